"""What came of a turn against what a script expects of it. Plain data in, plain data out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ernie_chat.measure.script import Expect, Range

COUNTS = (
    "left_out_tokens",
    "dropped_tokens",
    "dropped_turns",
    "prompt_tokens",
    "cached_tokens",
    "answer_tokens",
)
"""Expectations of numbers that the app tells with an answer, under the same names."""

SHOWN = 300
"""Characters of an answer that are quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a user sees after a turn, and what the app told about it."""

    answer: str | None
    """The text of this turn's newest answer; None if there is none."""
    numbers: dict[str, Any]
    """What the app told about that answer: finish, counts of tokens, times."""
    notices: tuple[str, ...]
    errors: tuple[str, ...]
    answers: int
    """Finished answers in the page."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was expected, and what came instead if it didn't."""

    expected: str
    came: str | None = None

    @property
    def ok(self) -> bool:
        return self.came is None


def check(expect: Expect, outcome: Outcome, *, answered: bool) -> list[Check]:
    """Every expectation about a turn, met or not. `answered`: the turn is of a kind that brings
    an answer."""
    checks = [*_app_itself(expect, outcome)]
    if answered:
        checks += _answer(expect, outcome)
    return checks


def _app_itself(expect: Expect, outcome: Outcome) -> Iterator[Check]:
    for text in expect.notice:
        yield _any(outcome.notices, text, f"a notice with {_quoted(text)}")
    for text in expect.error:
        yield _any(outcome.errors, text, f"an error with {_quoted(text)}")
    if outcome.errors and not expect.error:
        yield Check("no error", _quoted(" / ".join(outcome.errors)))
    if expect.notices is not None:
        yield _number("notices", expect.notices, len(outcome.notices))
    if expect.answers is not None:
        yield _number("answers in the page", expect.answers, outcome.answers)


def _answer(expect: Expect, outcome: Outcome) -> Iterator[Check]:
    if outcome.answer is None:
        # An expected error is what comes instead of an answer.
        if expect.answer is None and expect.error and not _about_answer(expect):
            return
        yield Check(
            "no answer" if expect.answer is False else "an answer",
            None if expect.answer is False else "none",
        )
        return
    if expect.answer is False:
        yield Check("no answer", _quoted(outcome.answer))
        return
    yield from _text(expect, outcome.answer)
    yield from _end(expect, outcome)
    for name in COUNTS:
        bounds: Range | None = getattr(expect, name)
        if bounds is not None:
            yield _number(name, bounds, outcome.numbers.get(name))


def _text(expect: Expect, answer: str) -> Iterator[Check]:
    quoted = _quoted(answer)
    for text in expect.contains:
        yield Check(f"contains {_quoted(text)}", None if text in answer else quoted)
    for text in expect.not_contains:
        yield Check(f"doesn't contain {_quoted(text)}", quoted if text in answer else None)
    for pattern in expect.matches:
        found = re.search(pattern, answer)
        yield Check(f"matches {_quoted(pattern)}", None if found else quoted)
    if expect.equals is not None:
        same = answer == expect.equals
        yield Check(f"equals {_quoted(expect.equals)}", None if same else quoted)


def _end(expect: Expect, outcome: Outcome) -> Iterator[Check]:
    finish = outcome.numbers.get("finish")
    if expect.finish:
        expected = f"finish {' or '.join(expect.finish)}"
        yield Check(expected, None if finish in expect.finish else str(finish))
    if expect.truncated is not None:
        left_out = outcome.numbers.get("left_out_tokens") or 0
        expected = "message shortened" if expect.truncated else "message not shortened"
        met = expect.truncated == (left_out > 0)
        yield Check(expected, None if met else f"{left_out} tokens left out")


def _about_answer(expect: Expect) -> bool:
    return bool(expect.model_fields_set - {"answer", "answers", "notice", "notices", "error"})


def _any(sentences: tuple[str, ...], text: str, expected: str) -> Check:
    if any(text in sentence for sentence in sentences):
        return Check(expected)
    return Check(expected, _quoted(" / ".join(sentences)) if sentences else "none")


def _number(name: str, bounds: Range, number: int | None) -> Check:
    met = number is not None and bounds.holds(number)
    return Check(f"{name} {bounds}", None if met else str(number))


def _quoted(text: str) -> str:
    """`text` on one line, its middle left out if it is long."""
    if len(text) > SHOWN:
        text = f"{text[: SHOWN * 2 // 3]} … {text[-SHOWN // 3 :]}"
    return '"' + text.replace("\n", "⏎") + '"'
