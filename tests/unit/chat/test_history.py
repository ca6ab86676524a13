"""Which turns stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ernie_chat.chat.history import Lengths, oldest_first


@given(st.lists(st.integers(1, 100), min_size=1, max_size=20), st.integers(0, 500))
def test_oldest_first_keeps_as_many_as_fit(costs: list[int], more: int) -> None:
    totals = [sum(costs[i:]) for i in range(len(costs))]
    budget = totals[-1] + more
    first = oldest_first(totals, budget)
    assert totals[first] <= budget
    assert first == 0 or totals[first - 1] > budget


def test_lengths_are_counted_once_and_only_when_looked_at() -> None:
    asked: list[int] = []

    def measure(index: int) -> int:
        asked.append(index)
        return 100 - index

    lengths = Lengths(50, measure)
    assert oldest_first(lengths, 97) == 3
    assert lengths[3] == 97
    assert asked == [0, 1, 2, 3]
    assert len(lengths) == 50
    assert lengths[-1] == 51
    assert lengths[48:] == [52, 51]
    with pytest.raises(IndexError):
        lengths[50]
