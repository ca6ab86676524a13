"""Where a text may be cut: between grapheme clusters (UAX #29), what a reader calls characters.

In time linear in the text for any text: `regex`'s own search for clusters is quadratic on long
rows of flags, so it is only ever shown short slices. Knows no tokens.
"""

from __future__ import annotations

import regex

_CLUSTER = regex.compile(r"\X")
_NEEDS_WHAT_IS_BEFORE = regex.compile(r"[\p{M}\p{GCB=Extend}\p{GCB=ZWJ}]")
_SLICE = 64
"""Characters looked at first; nearly every cluster is shorter."""


def boundary_before(text: str, position: int) -> int:
    """The last place at or before `position` where no cluster is split."""
    if position >= len(text):
        return len(text)
    place = _certain_boundary(text, position)
    while (end := _cluster_end(text, place)) <= position:
        place = end
    return place


def boundary_after(text: str, position: int) -> int:
    """The first place at or after `position` where no cluster is split."""
    before = boundary_before(text, position)
    return before if before == position else _cluster_end(text, before)


def _certain_boundary(text: str, position: int) -> int:
    """A boundary at or before `position` that two characters alone prove to be one.

    What comes earlier can only join two characters that break when seen alone if the first of
    them is a mark or a joiner (GB9c, GB11); rows of flags (GB12) never break when seen alone.
    """
    while position > 0:
        pair = text[position - 1 : position + 1]
        if _CLUSTER.match(pair).end() == 1 and not _NEEDS_WHAT_IS_BEFORE.match(pair):
            break
        position -= 1
    return position


def _cluster_end(text: str, start: int) -> int:
    size = _SLICE
    while True:
        end = start + int(_CLUSTER.match(text[start : start + size]).end())
        if end < start + size or end >= len(text):
            return end
        size *= 2  # it may go on behind the slice
