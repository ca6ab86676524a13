"""A message too long for the prompt, cut down to its first and last tokens.

What is kept is text, cut between grapheme clusters, never ids: so no character is ever broken,
and it tokenises in the prompt as it would anywhere. Between the two ends stands `MARK`, paid for
by the tail; the head's share stays whole, so that it fills whole KV blocks.

The tokenizer is only shown pieces of bounded size: it holds Python's lock while it works, and half
a second of that would halt everybody's stream. A count over several pieces may be off by a few
tokens for each seam. Knows no template and no turns.
"""

from __future__ import annotations

from dataclasses import dataclass

from ernie_chat.chat.graphemes import boundary_after, boundary_before
from ernie_chat.chat.tokenizer import Tokenizer

MARK = "…"
"""What the model reads in place of what is left out; one token in most vocabularies."""

PIECE = 16_384
"""Characters the tokenizer is given at once: about 20 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """What was cut, in tokens. `head` and `tail` are what was kept, `MARK` not counted."""

    tokens_before: int
    head: int
    tail: int
    left_out: int


class LongText:
    """A text measured once, to be cut as often as it takes."""

    def __init__(self, tokenizer: Tokenizer, text: str) -> None:
        self.text = text
        self._tokenizer = tokenizer
        self._starts = range(0, len(text), PIECE)
        self._counts = [len(tokenizer.encode(self._piece(start))) for start in self._starts]
        self.tokens = sum(self._counts)

    def fits(self, limit: int) -> bool:
        """Whether the whole text is at most `limit` tokens."""
        if self.tokens > limit:
            return False
        return len(self._counts) <= 1 or self._count(self.text) <= limit

    def cut(self, head: int, tail: int) -> tuple[str, Truncated]:
        """The first `head` and last `tail` tokens as a text that re-encodes to at most
        `head + tail`, and what that left out. The text must be longer than that.

        No grapheme cluster is split, unless the text is so odd that nothing would be left: a
        single cluster of hundreds of tokens.
        """
        kept = self._cut(head, tail, split_clusters=False)
        if not any(kept):
            kept = self._cut(head, tail, split_clusters=True)
        first, last = kept
        counts = self._count(first), self._count(last)
        truncated = Truncated(
            tokens_before=self.tokens,
            head=counts[0],
            tail=counts[1],
            left_out=max(0, self.tokens - sum(counts)),
        )
        return self._join(first, last), truncated

    def _cut(self, head: int, tail: int, *, split_clusters: bool) -> tuple[str, str]:
        limit = head + tail
        # A tail that can't pay for the mark does without both.
        tail = max(0, tail - self._count(MARK))
        end = self._head_end(head)
        if not split_clusters:
            end = boundary_before(self.text, end)
        while True:
            start = max(end, self._tail_start(tail))
            if not split_clusters:
                start = boundary_after(self.text, start)
            kept = self.text[:end], self.text[start:]
            excess = self._count(self._join(*kept)) - limit
            if excess <= 0:
                return kept
            # Cut anew, the ends may take more tokens than they were: rare, and few.
            if tail > 0:
                tail = max(0, tail - excess)
            else:
                end = end - 1 if split_clusters else boundary_before(self.text, end - 1)

    @staticmethod
    def _join(first: str, last: str) -> str:
        return first + MARK + last if last else first

    def _head_end(self, tokens: int) -> int:
        """Characters that the first `tokens` tokens spell."""
        for start, count in zip(self._starts, self._counts, strict=True):
            if count > tokens:
                _, offsets = self._tokenizer.encode_offsets(self._piece(start))
                return start + offsets[tokens][0]
            tokens -= count
        return len(self.text)

    def _tail_start(self, tokens: int) -> int:
        """Where the last `tokens` tokens begin."""
        for start, count in zip(reversed(self._starts), reversed(self._counts), strict=True):
            if count > tokens:
                _, offsets = self._tokenizer.encode_offsets(self._piece(start))
                return start + offsets[count - tokens - 1][1]
            tokens -= count
        return 0

    def _piece(self, start: int) -> str:
        return self.text[start : start + PIECE]

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(text))
