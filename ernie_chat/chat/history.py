"""What a chat remembers: answered turns, and which of them still fit into a prompt.

Knows lengths in tokens, not how a prompt is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A message and its answer."""

    key: str
    """Names the message; an edited message keeps its key."""
    message: str
    """As the model read it: truncated if it was long."""
    answer_ids: tuple[int, ...]
    """As generated, without the stop token."""
    answer: str
    stopped: bool
    """The user ended it, not the model."""


Trimming = Callable[[Sequence[int], int], int]
"""Which turns stay: given `lengths` and `budget`, the index of the first turn that does.

`lengths[i]` is the whole prompt's length in tokens with turns i and later in it; the last entry,
for no turn at all, is known to fit. They are counted when looked at, so look at few. The prompt
must come out within `budget`. A turn that is left out once never comes back, so a policy that
leaves out several at once keeps the prompt's prefix, and what is cached of it, for longer.
"""


def oldest_first(lengths: Sequence[int], budget: int) -> int:
    """Leave out the oldest turns, as few as possible."""
    return next(first for first, length in enumerate(lengths) if length <= budget)


class Lengths(Sequence[int]):
    """`lengths` of `Trimming`, each counted when first looked at."""

    def __init__(self, count: int, measure: Callable[[int], int]) -> None:
        self._known: dict[int, int] = {}
        self._count = count
        self._measure = measure

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        index = range(self._count)[index]
        if index not in self._known:
            self._known[index] = self._measure(index)
        return self._known[index]
