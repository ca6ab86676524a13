"""Tokenised text, remembered: turn after turn a chat's prompt is mostly the same spans of text.

Shared by all chats over one tokenizer, so a starter or a system prompt is tokenised once.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from cachetools import LRUCache, cached

from ernie_chat.chat.tokenizer import Tokenizer

MEMO_BYTES = 16 * 2**20
_ENTRY_BYTES = 512
"""An entry's objects beside its text and ids, about."""


@dataclass(frozen=True, slots=True)
class _Span:
    text: str
    ids: array[int]

    def size(self) -> int:
        return sys.getsizeof(self.text) + sys.getsizeof(self.ids) + _ENTRY_BYTES


class Spans:
    """A least-recently-used memo of `tokenizer.encode`, bounded in bytes. Thread-safe."""

    def __init__(self, tokenizer: Tokenizer, *, max_bytes: int = MEMO_BYTES) -> None:
        self._memo: LRUCache[object, _Span] = LRUCache(max_bytes, getsizeof=_Span.size)

        @cached(self._memo, lock=Lock())
        def span(text: str) -> _Span:
            return _Span(text, array("i", tokenizer.encode(text)))

        self._span = span

    def encode(self, text: str) -> Sequence[int]:
        """Ids of `text`."""
        return self._span(text).ids

    @property
    def size(self) -> int:
        """Bytes that the memo holds now; at most `max_bytes`."""
        return int(self._memo.currsize)


@cached(LRUCache(2), key=id, lock=Lock())  # a memo keeps its tokenizer, so the id stays true
def spans_of(tokenizer: Tokenizer) -> Spans:
    """The memo of `tokenizer`. A process has one tokenizer, or two while a model is changed."""
    return Spans(tokenizer)
