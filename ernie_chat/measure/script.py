"""A scripted chat: what a user does, turn by turn, and what must come of it. `docs/replay.md` has
the format by example.

Knows neither files (`script_file`) nor sockets (`client`); running a script is `replay`'s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

Finish = Literal["stop", "length", "stopped", "error"]
Verb = Literal["say", "edit", "regenerate", "settings", "reconnect", "new_chat"]

VERBS: tuple[Verb, ...] = ("say", "edit", "regenerate", "settings", "reconnect", "new_chat")
"""What a turn may do; exactly one of them."""
ANSWERED: frozenset[Verb] = frozenset({"say", "edit", "regenerate"})
NEED_NO_ANSWER = frozenset({"answers", "notice", "notices", "error"})
"""Expectations that any turn can have."""

LONGEST_MESSAGE = 10_000_000
"""Characters; more is a slip of the pen."""


class Part(BaseModel):
    """A mapping of the file. Unknown keys are errors; `known_keys` helps to name the one meant."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


def _several(value: Any) -> Any:
    """One value may be written without a list around it."""
    return tuple(value) if isinstance(value, list) else (value,)


def _range(value: Any) -> Any:
    """A bare number is a range of one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return {"at_least": value, "at_most": value}
    return value


def _detailed(value: Any) -> Any:
    """`true` stands for the mapping with its defaults."""
    return {} if value is True else value


def _message(value: Any) -> str:
    """A message: text, or a list of pieces of which some are repeated."""
    text = "".join(map(_piece, value)) if isinstance(value, list) else _piece(value)
    if len(text) > LONGEST_MESSAGE:
        raise ValueError(f"has {len(text):,} characters; at most {LONGEST_MESSAGE:,} are allowed")
    return text


def _piece(piece: Any) -> str:
    if isinstance(piece, str):
        return piece
    match piece:
        case {"repeat": str(text), "times": int(times), **rest} if not rest and times > 0:
            if len(text) * times <= LONGEST_MESSAGE:
                return text * times
    raise ValueError('must be text (in quotes), or a list of texts and {repeat: "text", times: N}')


def _value(value: Any) -> str | int | float | bool:
    """A value of the settings panel; a text may be in pieces, as a message may."""
    if isinstance(value, list):
        return _message(value)
    if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError("must be text (in quotes), a number, true or false")


Value = Annotated[str | int | float | bool, PlainValidator(_value)]
Message = Annotated[str, BeforeValidator(_message)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_several)]
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
Wait = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Yes = Literal[True]


class Range(Part):
    """Bounds of a number, both included."""

    at_least: int | None = None
    at_most: int | None = None

    def holds(self, number: int) -> bool:
        return (self.at_least is None or number >= self.at_least) and (
            self.at_most is None or number <= self.at_most
        )

    def __str__(self) -> str:
        if self.at_least == self.at_most:
            return "any number" if self.at_least is None else str(self.at_least)
        bounds = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{name} {number}" for name, number in bounds if number is not None)


Count = Annotated[Range | None, BeforeValidator(_range)]


class Expect(Part):
    """What must come of a turn. What is left out isn't looked at, but for two things: a turn must
    bring an answer, and an error that wasn't expected fails it."""

    contains: Texts = ()
    not_contains: Texts = ()
    matches: Texts = ()
    """Regular expressions, each found somewhere in the answer."""
    equals: str | None = None
    """The whole answer; for greedy settings."""
    finish: Annotated[tuple[Finish, ...], BeforeValidator(_several)] = ()
    """How the answer ended: any of these."""
    answer: bool | None = None
    """False: the turn must bring no answer."""
    truncated: bool | None = None
    """Whether the message was shortened."""
    left_out_tokens: Count = None
    """Tokens cut out of the message."""
    dropped_tokens: Count = None
    """Tokens of old turns that the prompt was without."""
    dropped_turns: Count = None
    prompt_tokens: Count = None
    cached_tokens: Count = None
    """Of the prompt's tokens, those found in the prefix cache."""
    answer_tokens: Count = None
    answers: Count = None
    """Finished answers in the page after the turn."""
    notice: Texts = ()
    """Texts to be found in what the app itself said in this turn."""
    notices: Count = None
    """How many such sentences came."""
    error: Texts = ()
    """Texts to be found in the errors of this turn."""

    @field_validator("matches")
    @classmethod
    def _are_expressions(cls, expressions: tuple[str, ...]) -> tuple[str, ...]:
        for expression in expressions:
            try:
                re.compile(expression)
            except re.error as error:
                raise ValueError(f'"{expression}" is not a regular expression: {error}') from error
        return expressions

    @model_validator(mode="after")
    def _makes_sense(self) -> Expect:
        needs = sorted(self.model_fields_set - NEED_NO_ANSWER - {"answer"})
        if self.answer is False and needs:
            raise ValueError(f'"answer: false" leaves nothing to expect of "{needs[0]}"')
        return self


class Moment(Part):
    """A moment in an answer that still grows; exactly one of these."""

    seconds: Seconds | None = None
    """After the turn was sent."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    """Pieces of the stream that have come. A piece is a frame and holds at least one token."""
    characters: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Moment:
        if len(self.model_fields_set) != 1:
            raise ValueError('give one of "seconds", "tokens", "characters"')
        return self

    def __str__(self) -> str:
        name, value = next((n, v) for n, v in self if v is not None)
        return f"{value:g} {name}"


class Drop(Moment):
    """The socket drops in the middle of an answer, and comes back."""

    away_s: Seconds = 0.5

    @model_validator(mode="after")
    def _is_one(self) -> Drop:
        if len(self.model_fields_set - {"away_s"}) != 1:
            raise ValueError('give one of "seconds", "tokens", "characters"')
        return self


class Reconnect(Part):
    """The socket drops between two answers, and comes back."""

    away_s: Seconds = 0.5


class Edit(Part):
    """Another text for a message that was said before."""

    turn: Annotated[int, Field(ge=1)]
    """The number of that turn in the file, from 1; it must be a "say"."""
    say: Message


class Turn(Part):
    """One thing a user does, and what must come of it."""

    say: Message | None = None
    edit: Edit | None = None
    regenerate: Yes | None = None
    settings: dict[str, Value] | None = None
    """New values of the settings panel by their ids."""
    reconnect: Annotated[Reconnect | None, BeforeValidator(_detailed)] = None
    new_chat: Yes | None = None

    pause_s: Seconds = 0.0
    """Before it: the time a user thinks."""
    stop_after: Moment | None = None
    """Press Stop then."""
    drop_after: Drop | None = None
    """Lose the connection then."""
    wait: bool = True
    """False: go on with the next turn at once; that one's expectations are about both."""
    timeout_s: Wait | None = None
    """No answer hangs longer; not for measuring speed."""
    expect: Expect = Expect()

    @property
    def verb(self) -> Verb:
        return next(verb for verb in VERBS if getattr(self, verb) is not None)

    @property
    def answered(self) -> bool:
        return self.verb in ANSWERED

    @model_validator(mode="after")
    def _makes_sense(self) -> Turn:
        verbs = [verb for verb in VERBS if getattr(self, verb) is not None]
        if len(verbs) != 1:
            having = f"has {' and '.join(verbs)}" if verbs else "does nothing"
            raise ValueError(f"a turn {having}; give one of {', '.join(VERBS)}")
        if not self.answered:
            for name in ("stop_after", "drop_after", "wait"):
                if name in self.model_fields_set:
                    raise ValueError(f'"{name}" needs an answer, and "{verbs[0]}" brings none')
            if pointless := sorted(self.expect.model_fields_set - NEED_NO_ANSWER):
                raise ValueError(
                    f'"{verbs[0]}" brings no answer of which to expect "{pointless[0]}"'
                )
        if self.stop_after and self.drop_after:
            raise ValueError('give either "stop_after" or "drop_after"')
        if not self.wait and (self.stop_after or self.drop_after or self.expect.model_fields_set):
            raise ValueError('"wait: false" leaves nothing to stop or to expect yet')
        return self


def _misplaced(turn: int, key: str, problem: str) -> PydanticCustomError:
    """An error about `key` of a turn (from 1), found while looking at the whole script."""
    at = {"problem": problem, "at": ("turns", turn - 1, key)}
    return PydanticCustomError("misplaced", "{problem}", at)


def _why_not(script: Script, edited: int, editing: int) -> str:
    if edited >= editing:
        return f"turn {edited} doesn't come before this one"
    if script.turns[edited - 1].say is None:
        return f'turn {edited} is no "say"; only what was said can be edited'
    return f"what turn {edited} said is no longer in the page"


class Script(Part):
    """A whole file: one chat of one user."""

    name: str = ""
    language: str = "en-US"
    """The browser's language, as its Accept-Language header says it."""
    system_prompt: str | None = None
    settings: dict[str, Value] = {}
    """Of every chat in this file, set before its first message."""
    timeout_s: Wait | None = None
    """Of each turn that has none of its own."""
    turns: Annotated[tuple[Turn, ...], Field(strict=False)]

    @model_validator(mode="after")
    def _fits_together(self) -> Script:
        if not self.turns:
            raise ValueError('"turns" is empty')
        editable: list[int] = []  # numbers of turns whose message stands in the page
        for number, turn in enumerate(self.turns, 1):
            if turn.new_chat:
                editable = []
            elif turn.edit and turn.edit.turn not in editable:
                raise _misplaced(number, "edit", _why_not(self, turn.edit.turn, number))
            elif turn.edit:
                del editable[editable.index(turn.edit.turn) + 1 :]
            elif turn.regenerate and not editable:
                raise _misplaced(number, "regenerate", "nothing was said yet in this chat")
            elif turn.say is not None:
                editable.append(number)
            if not turn.wait and number == len(self.turns):
                raise _misplaced(number, "wait", "the last turn has to be waited for")
        return self

    @property
    def panel(self) -> dict[str, Value]:
        """What to set in the settings panel at the beginning of a chat."""
        prompt = {} if self.system_prompt is None else {"system_prompt": self.system_prompt}
        return {**self.settings, **prompt}


def known_keys(location: Iterable[str | int]) -> list[str]:
    """The keys that the mapping at `location` of a script may have."""
    part: type[Part] = Script
    for step in location:
        if step in part.model_fields:
            part = next(_parts_in(part.model_fields[str(step)].annotation), part)
    return list(part.model_fields)


def _parts_in(annotation: Any) -> Iterator[type[Part]]:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        yield annotation
    for inner in get_args(annotation):
        yield from _parts_in(inner)
