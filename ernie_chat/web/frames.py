"""Deltas into frames: the first at once, later ones at most one per frame, whole graphemes only.

While a frame lasts nothing here runs: the engine merges what it makes until it is asked again,
so the cost of streaming is per frame, not per token. Knows no browser and no engine; works on
any async generator of `Delta`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

import regex

from ernie_chat.engine.interface import Delta

_GRAPHEME = regex.compile(r"\X")
# Nothing that follows joins these, so they need not wait: white space, ASCII punctuation, and
# ideographs, kana and their punctuation (variation selectors on ideographs are vanishingly rare
# in generated text, and the browser joins them anyway).
_CLOSED = regex.compile(
    r"[\s!-/:-@\[-`{-~\p{Han}\p{Hiragana}\p{Katakana}\u3000-\u303f\uff00-\uffef]"
)


@dataclass(slots=True)
class GraphemeHold:
    """Keeps back a last grapheme cluster that the next text may still join: an emoji family,
    a flag, a letter before its combining mark."""

    held: str = ""

    def push(self, text: str) -> str:
        """The part of everything pushed so far that is complete."""
        text = self.held + text
        # Forwards: `text` begins at a boundary, and which flags belong together depends on it.
        *_, last = _GRAPHEME.findall(text) or [""]
        self.held = "" if _CLOSED.fullmatch(last) else last
        return text[: len(text) - len(self.held)]

    def flush(self) -> str:
        """What was kept back, at the end of the answer."""
        held, self.held = self.held, ""
        return held


async def frames(
    deltas: AsyncGenerator[Delta, None], *, frame_s: float
) -> AsyncGenerator[Delta, None]:
    """`deltas` as frames at least `frame_s` seconds apart, but for the first and the last.

    Joined texts and ids are those of `deltas`. Closing this closes `deltas`, which aborts the
    request in the engine.
    """
    hold = GraphemeHold()
    async with aclosing(deltas):
        async for delta in deltas:
            began = time.perf_counter()
            text = hold.push(delta.text)
            if delta.finish is not None:
                yield replace(delta, text=text + hold.flush())
                return
            yield replace(delta, text=text)
            # What the consumer took to send counts towards the frame.
            rest = frame_s - (time.perf_counter() - began)
            if rest > 0:
                await asyncio.sleep(rest)
