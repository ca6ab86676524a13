"""The memo gives what the tokenizer gives, and stays within its bytes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ernie_chat.chat.spans import Spans, spans_of
from tests.unit.chat.conftest import Kind
from tests.unit.chat.test_truncate import Counting


def test_encodes_once(kind: Kind) -> None:
    tokenizer = Counting(kind.tokenizer)
    spans = Spans(tokenizer)
    assert [list(spans.encode("User: 你好\n")) for _ in range(3)] == [
        kind.tokenizer.encode("User: 你好\n")
    ] * 3
    assert len(tokenizer.given) == 1


def test_bounded_in_bytes(kind: Kind) -> None:
    spans = Spans(kind.tokenizer, max_bytes=20_000)
    for i in range(500):
        spans.encode(f"text number {i}")
        assert spans.size <= 20_000
    assert spans.size > 10_000


def test_what_is_too_large_is_not_kept(kind: Kind) -> None:
    spans = Spans(kind.tokenizer, max_bytes=2000)
    text = "word " * 1000
    assert list(spans.encode(text)) == kind.tokenizer.encode(text)
    assert spans.size == 0


def test_shared_by_chats_and_threads(kind: Kind) -> None:
    assert spans_of(kind.tokenizer) is spans_of(kind.tokenizer)
    texts = [f"line {i} 第 {i} 行\n" for i in range(50)]
    expected = [kind.tokenizer.encode(text) for text in texts]
    spans = Spans(kind.tokenizer, max_bytes=10_000)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: [list(spans.encode(t)) for t in texts], range(40)):
            assert got == expected
