"""What came against what was expected."""

from __future__ import annotations

from typing import Any

import pytest

from ernie_chat.measure.expectation import Outcome, check
from ernie_chat.measure.script import Expect

FINE = Outcome(
    answer="Paris is\nthe capital.",
    numbers={"finish": "stop", "left_out_tokens": 0, "cached_tokens": 32, "dropped_turns": 0},
    notices=("Your message has 600 tokens.",),
    errors=(),
    answers=2,
)
NOTHING = Outcome(answer=None, numbers={}, notices=(), errors=(), answers=0)


def failures(expect: dict[str, Any], outcome: Outcome, *, answered: bool = True) -> list[str]:
    checks = check(Expect.model_validate(expect), outcome, answered=answered)
    return [f"{c.expected}: {c.came}" for c in checks if not c.ok]


@pytest.mark.parametrize(
    "expect",
    [
        {},
        {"answer": True},
        {"contains": ["Paris", "capital"], "not_contains": "London", "matches": r"(?s)^Paris.*\.$"},
        {"equals": "Paris is\nthe capital."},
        {"finish": ["length", "stop"], "truncated": False},
        {"cached_tokens": {"at_least": 32}, "dropped_turns": 0, "left_out_tokens": 0},
        {"notice": "600 tokens", "notices": 1, "answers": 2},
    ],
)
def test_what_came_as_expected(expect: dict[str, Any]) -> None:
    assert failures(expect, FINE) == []


@pytest.mark.parametrize(
    ("expect", "failure"),
    [
        ({"contains": "London"}, 'contains "London": "Paris is⏎the capital."'),
        ({"not_contains": "Paris"}, 'doesn\'t contain "Paris": "Paris is⏎the capital."'),
        ({"matches": "^capital"}, 'matches "^capital": "Paris is⏎the capital."'),
        ({"equals": "Paris"}, 'equals "Paris": "Paris is⏎the capital."'),
        ({"finish": ["length", "stopped"]}, "finish length or stopped: stop"),
        ({"truncated": True}, "message shortened: 0 tokens left out"),
        ({"cached_tokens": {"at_least": 33}}, "cached_tokens at least 33: 32"),
        ({"prompt_tokens": 3}, "prompt_tokens 3: None"),
        ({"answer": False}, 'no answer: "Paris is⏎the capital."'),
        ({"notice": "700"}, 'a notice with "700": "Your message has 600 tokens."'),
        ({"notices": 0}, "notices 0: 1"),
        ({"error": "broke"}, 'an error with "broke": none'),
        ({"answers": {"at_most": 1}}, "answers in the page at most 1: 2"),
    ],
)
def test_what_came_otherwise(expect: dict[str, Any], failure: str) -> None:
    assert failures(expect, FINE) == [failure]


def test_an_answer_must_come_unless_the_script_says_otherwise() -> None:
    assert failures({}, NOTHING) == ["an answer: none"]
    assert failures({"contains": "a"}, NOTHING) == ["an answer: none"]
    assert failures({"answer": False}, NOTHING) == []
    assert failures({}, NOTHING, answered=False) == []


def test_an_error_fails_a_turn_unless_it_was_expected() -> None:
    broke = Outcome(answer=None, numbers={}, notices=(), errors=("it broke",), answers=0)
    assert failures({}, broke) == ['no error: "it broke"', "an answer: none"]
    assert failures({}, broke, answered=False) == ['no error: "it broke"']
    assert failures({"error": "broke"}, broke) == []  # it came instead of the answer
    assert failures({"error": "broke", "finish": "error"}, broke) == ["an answer: none"]
    assert failures({"error": "broke", "answer": True}, broke) == ["an answer: none"]


def test_a_long_answer_is_quoted_in_part() -> None:
    long = Outcome(answer="a" * 5000 + "b", numbers={}, notices=(), errors=(), answers=1)
    (failure,) = failures({"contains": "c"}, long)
    assert len(failure) < 400
    assert failure.endswith('b"')
