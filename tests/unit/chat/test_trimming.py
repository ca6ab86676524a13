"""How many turns leave at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ernie_chat.chat.history import oldest_first
from ernie_chat.chat.trimming import low_water

COSTS = st.lists(st.integers(1, 100), min_size=1, max_size=20)


@given(COSTS, st.integers(0, 500), st.floats(0, 1))
def test_down_to_the_mark_and_no_further(costs: list[int], more: int, share: float) -> None:
    totals = [sum(costs[i:]) for i in range(len(costs))]
    budget = totals[-1] + more
    first = low_water(share)(totals, budget)
    assert totals[first] <= budget
    if totals[0] <= budget:
        assert first == 0
    else:
        mark = totals[-1] + int(more * share)
        assert totals[first] <= mark < totals[first - 1]


@given(COSTS, st.integers(0, 500))
def test_a_whole_share_is_oldest_first(costs: list[int], more: int) -> None:
    totals = [sum(costs[i:]) for i in range(len(costs))]
    budget = totals[-1] + more
    assert low_water(1)(totals, budget) == oldest_first(totals, budget)


def test_a_long_message_leaves_its_history_a_share_of_the_rest() -> None:
    """Not nothing, which a share of the whole budget would."""
    assert low_water(0.5)([130, 110, 105, 100, 95, 90], 110) == 3


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_no_other_share(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        low_water(share)
