"""First and last tokens, whole characters, never more tokens than allowed, bounded work."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from ernie_chat.chat.tokenizer import TemplateMessage, Tokenizer
from ernie_chat.chat.truncate import MARK, PIECE, LongText, Truncated
from tests.unit.chat.conftest import Kind

ODD = ["a", "word ", " ", "\n", "天空", "👨‍👩‍👧", "🇨🇳", "e\u0301", "삼", "7", "__", "𠮷", "x" * 9,
       "</s>", "…", "\u0301", "क्ष", "散射短波的光", "\u200d"]  # fmt: skip


def check(kind: Kind, text: str, head: int, tail: int) -> tuple[str, Truncated]:
    """Every promise about a cut text."""
    kept, cut = LongText(kind.tokenizer, text).cut(head, tail)
    count = len(kind.tokenizer.encode(kept))
    assert 0 < count <= head + tail
    assert "\ufffd" not in kept
    assert cut.head <= head + 1
    assert cut.tail <= tail
    assert cut.left_out == cut.tokens_before - cut.head - cut.tail
    return kept, cut


def ends(text: str, kept: str) -> list[tuple[str, str]]:
    """The ways to read `kept` as a start and an end of `text`, with or without a mark between."""
    ways = [(kept, "")] if text.startswith(kept) else []
    at = kept.find(MARK)
    while at >= 0:
        first, last = kept[:at], kept[at + len(MARK) :]
        if text.startswith(first) and text.endswith(last):
            ways.append((first, last))
        at = kept.find(MARK, at + 1)
    return ways


@settings(max_examples=80, deadline=None)
@given(
    text=st.lists(st.sampled_from(ODD), min_size=30, max_size=120).map("".join),
    head=st.integers(8, 40),
    tail=st.integers(0, 30),
)
def test_any_text(kind: Kind, text: str, head: int, tail: int) -> None:
    if LongText(kind.tokenizer, text).fits(head + tail):
        return
    kept, _ = check(kind, text, head, tail)
    clusters = [0, *accumulate(map(len, regex.findall(r"\X", text)))]
    longest = max(len(kind.tokenizer.encode(c)) for c in regex.findall(r"\X", text))
    if longest < head:
        assert any(
            len(first) in clusters and len(text) - len(last) in clusters
            for first, last in ends(text, kept)
        )


def test_keeps_the_first_and_the_last_tokens(kind: Kind) -> None:
    text = " ".join(f"w{i}" for i in range(3000))
    ids = kind.tokenizer.encode(text)
    kept, cut = check(kind, text, 384, 128)
    first, last = kept.split(MARK)
    assert kind.tokenizer.encode(first) == ids[:384]
    mark = len(kind.tokenizer.encode(MARK))
    assert kind.tokenizer.encode(kept)[:384] == ids[:384]
    assert text.endswith(last)
    assert 128 - mark - 1 <= cut.tail <= 128 - mark
    assert (cut.tokens_before, cut.head) == (len(ids), 384)


@pytest.mark.parametrize("tail", [0, 1])
def test_a_tail_too_short_for_the_mark(kind: Kind, tail: int) -> None:
    text = "hello world " * 200
    kept, cut = check(kind, text, 50, tail)
    assert text.startswith(kept)
    assert (cut.head, cut.tail) == (50, 0)


HUGE = {
    "word": "a" * 40_000,
    "no spaces": "abcdefghijklmnop" * 5000,
    "han": "早上七点有一班去海边的火车" * 5000,
    "marks": "\u0301" * 40_000,
    "one cluster": "a" + "\u0301" * 30_000,
    "flags": "🇨🇳" * 12_000,
    "families": "👨‍👩‍👧" * 8000,
    "spaces": " " * 40_000 + "x",
    "lines": "\n" * 40_000 + "x",
}


class Counting(Tokenizer):
    """A tokenizer that notes how much it is given at once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.control_ids = tokenizer.control_ids
        self.control_tokens = tokenizer.control_tokens
        self.given: list[int] = []

    def encode(self, text: str) -> list[int]:
        self.given.append(len(text))
        return self._tokenizer.encode(text)

    def encode_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        self.given.append(len(text))
        return self._tokenizer.encode_offsets(text)

    def control_id(self, token: str) -> int:
        return self._tokenizer.control_id(token)

    def decode(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(ids)

    def render(self, messages: Sequence[TemplateMessage], *, add_generation_prompt: bool) -> str:
        return self._tokenizer.render(messages, add_generation_prompt=add_generation_prompt)


@pytest.mark.parametrize("name", HUGE)
def test_huge_texts_in_bounded_work(kind: Kind, name: str) -> None:
    text = HUGE[name]
    tokenizer = Counting(kind.tokenizer)
    kept, cut = LongText(tokenizer, text).cut(384, 128)
    assert max(tokenizer.given) <= max(PIECE, 2 * len(kept))
    assert sum(tokenizer.given) <= len(text) + 8 * PIECE + 8 * len(kept)
    true = len(kind.tokenizer.encode(text))
    assert abs(cut.tokens_before - true) <= 4 * (len(text) // PIECE)
    check(kind, text, 384, 128)


def test_nothing_but_one_cluster_is_split_between_code_points(kind: Kind) -> None:
    text = "a" + "\u0301" * 30_000
    kept, cut = check(kind, text, 384, 128)
    first, last = kept.split(MARK)
    assert text.startswith(first)
    assert text.endswith(last)
    assert cut.head >= 380


def test_a_huge_cluster_in_the_middle_goes_as_a_whole(kind: Kind) -> None:
    text = "hello " * 50 + "a" + "\u0301" * 30_000 + " bye" * 20
    kept, _ = check(kind, text, 384, 128)
    assert kept == "hello " * 50 + MARK + " bye" * 20


def test_fits(kind: Kind) -> None:
    text = "one two three"
    count = len(kind.tokenizer.encode(text))
    assert LongText(kind.tokenizer, text).fits(count)
    assert not LongText(kind.tokenizer, text).fits(count - 1)
    assert LongText(kind.tokenizer, "").fits(0)


@pytest.mark.parametrize(
    ("name", "text"), [("smol", "hliasnln"), ("smol", "unaldelu"), ("ernie", "hledodun")]
)
def test_a_seam_between_pieces_hides_no_token(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    """Cut in the right place, these words take fewer tokens than they do as a whole."""
    kind: Kind = request.getfixturevalue(name)
    monkeypatch.setattr("ernie_chat.chat.truncate.PIECE", 4)
    count = len(kind.tokenizer.encode(text))
    assert LongText(kind.tokenizer, text).tokens < count
    assert not LongText(kind.tokenizer, text).fits(count - 1)
    assert LongText(kind.tokenizer, text).fits(count)
