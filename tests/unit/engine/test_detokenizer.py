"""Text comes whole, whatever the tokens are cut like. The two kinds of tokenizer that the models
have: byte-level BPE (embedded model) and BPE with byte fallback (ERNIE)."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.engine.detokenizer import PENDING_LIMIT, Detokenizer
from ernie_chat.model.tokenizer import load_tokenizer
from tests.support.ernie_tokenizer import write_ernie_tokenizer

BROKEN = "\N{REPLACEMENT CHARACTER}"
TEXTS = [
    "A 世ab",
    "삼겹살",
    "🙂🙂",
    "👨‍👩‍👧",
    "𠮷野家",
    "e\u0301a",
    "🇨🇳🇫🇷",
    " leading",
    "a\n\n  b\n",
    "北京。",
]


@pytest.fixture(scope="session")
def byte_fallback(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load_tokenizer(write_ernie_tokenizer(tmp_path_factory.mktemp("ernie")))


@pytest.fixture(scope="session", params=["byte_level", "byte_fallback"])
def codec(
    request: pytest.FixtureRequest, tokenizer: Tokenizer, byte_fallback: Tokenizer
) -> Tokenizer:
    return {"byte_level": tokenizer, "byte_fallback": byte_fallback}[request.param]


def byte_ids(codec: Tokenizer, data: bytes) -> list[int]:
    """One token per byte, as a model spells what its vocabulary lacks."""
    vocabulary: dict[str, int] = codec._plain.get_vocab()  # type: ignore[attr-defined]
    if "<0x00>" in vocabulary:
        return [vocabulary[f"<0x{byte:02X}>"] for byte in data]
    return [vocabulary[_letter(byte)] for byte in data]


def _letter(byte: int) -> str:
    """The letter that stands for a byte in byte-level BPE: itself where it is printable, else
    the next one from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [other for other in range(256) if other not in printable]
    return chr(byte if byte in printable else 256 + others.index(byte))


def stream(codec: Tokenizer, ids: list[int], sizes: list[int]) -> list[str]:
    """Parts as they come when deltas hold `sizes` tokens in turn."""
    detokenizer = Detokenizer(codec)
    parts, left = [], list(ids)
    for size in itertools.cycle(sizes):
        if not left:
            break
        parts.append(detokenizer.push(left[:size]))
        del left[:size]
    return [*parts, detokenizer.flush()]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("sizes", [[1], [2], [3], [1, 4], [100]])
def test_split_at_every_byte(codec: Tokenizer, text: str, sizes: list[int]) -> None:
    ids = byte_ids(codec, text.encode())
    assert len(ids) == len(text.encode())
    parts = stream(codec, ids, sizes)
    assert "".join(parts) == text
    assert all(BROKEN not in part for part in parts)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60), size=st.integers(1, 9))
def test_joined_parts_are_the_whole(tokenizer: Tokenizer, text: str, size: int) -> None:
    ids = tokenizer.encode(text)
    assert "".join(stream(tokenizer, ids, [size])) == tokenizer.decode(ids)


def test_a_character_is_told_as_soon_as_it_is_whole(codec: Tokenizer) -> None:
    parts = stream(codec, byte_ids(codec, "世a".encode()), [1])
    assert parts == ["", "", "世", "a", ""]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_broken_character_at_the_end_is_flushed(codec: Tokenizer, cut: int) -> None:
    parts = stream(codec, byte_ids(codec, "ok 🙂".encode()[:-cut]), [1])
    assert "".join(parts[:-1]) == "ok "
    assert set(parts[-1]) == {BROKEN}


def test_broken_bytes_never_stall_the_stream(codec: Tokenizer) -> None:
    parts = stream(codec, byte_ids(codec, b"\x80" * 40), [1])
    assert next(i for i, part in enumerate(parts) if part) < PENDING_LIMIT
    assert set("".join(parts)) == {BROKEN}


def test_text_after_a_broken_byte_is_whole(codec: Tokenizer) -> None:
    ids = byte_ids(codec, b"\xe4") + codec.encode("well")
    text = "".join(stream(codec, ids, [1]))
    assert text == BROKEN + "well"


def test_control_tokens_have_no_text(codec: Tokenizer) -> None:
    control = sorted(codec.control_ids)
    parts = stream(codec, [control[0], *codec.encode("hi"), control[-1]], [1])
    assert "".join(parts) == "hi"


def test_a_leading_space_is_kept(codec: Tokenizer, tmp_path: Path) -> None:
    assert "".join(stream(codec, codec.encode(" a  b"), [1])) == " a  b"
