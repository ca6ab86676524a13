"""Token ids to text as they come: whole characters only, nothing lost, nothing stalls.

vLLM's own detokenizer isn't used: it drops the bytes of a character that the answer ended in the
middle of, and what was pending when a byte sequence turns out to be invalid. It also runs for
every token, this one once per delta, however many tokens were merged into it.

Knows no engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

PENDING_LIMIT = 16
"""Ids kept back at most. A character has at most four bytes, so a text that is still broken
after this many tokens is never going to be whole."""


class Codec(Protocol):
    """The part of a tokenizer that is needed here."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


class Detokenizer:
    """The text of one answer. Joined, the parts are what decoding all ids at once gives; only
    where the model really wrote broken bytes may the number of U+FFFD differ."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        # Decoders treat the start of a text specially (some strip a space there), so ids are
        # always decoded behind the same short text, which is then cut off.
        self._anchor = codec.encode("a")
        self._skip = len(codec.decode(self._anchor))
        self._pending: list[int] = []

    def push(self, ids: Sequence[int]) -> str:
        """The whole characters that `ids` complete."""
        pending = self._pending
        pending.extend(ids)
        for kept_back in range(min(len(pending), PENDING_LIMIT)):
            whole = len(pending) - kept_back
            text = self._decode(pending[:whole])
            if not text.endswith("\N{REPLACEMENT CHARACTER}"):
                del pending[:whole]
                return text
        return self.flush() if len(pending) >= PENDING_LIMIT else ""

    def flush(self) -> str:
        """What is left at the end; a character that is not whole becomes U+FFFD."""
        text = self._decode(self._pending)
        self._pending.clear()
        return text

    def _decode(self, ids: list[int]) -> str:
        return self._codec.decode(self._anchor + ids)[self._skip :] if ids else ""
