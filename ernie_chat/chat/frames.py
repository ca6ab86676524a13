"""A chat template taken apart once: its control tokens, its own words, and slots for messages.

The template is only ever rendered with stand-ins for messages. What a user writes is put into the
slots afterwards, as text between control tokens: there is no text in which a user's words and
the template's control tokens could be mistaken for each other.

A conversation is an opening (up to where the first answer begins) and followings (from where an
answer ends to where the next begins). So a template whose words depend on more than whether a
turn is the first, or on what a message says, is not followed in that; what it does to older
answers isn't either, for those are in the KV cache as they were. Knows no ids of text.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ernie_chat.chat.tokenizer import Role, TemplateMessage, Tokenizer
from ernie_chat.errors import ModelUnsupported

_RUN = secrets.token_hex(8)
_SYSTEM, _USER, _ANSWER, _LATER = (f"{name}{_RUN}{name}" for name in ("sy", "us", "an", "la"))
_SPACE = "\t\u2003\t"
"""Put around a stand-in: a template that strips messages takes it away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A place for a message, and whether the template strips what is put there."""

    role: Literal["system", "user"]
    strip_left: bool
    strip_right: bool

    def fill(self, content: str) -> str:
        content = content.lstrip() if self.strip_left else content
        return content.rstrip() if self.strip_right else content


Words = tuple[str | Slot, ...]
"""Text without control tokens: what the template writes itself, and messages. One span: it is
tokenised as one text, as it would be in the rendered whole."""

Frame = tuple[int | Words, ...]
"""A part of a prompt: ids of control tokens, and the words between them."""


class Frames:
    """The frames of a tokenizer's template, each made when first asked for.

    A template that knows no system role gets the system prompt in front of the first message.
    Raises ModelUnsupported when the template refuses a plain chat, or loses or changes a message.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._made: dict[tuple[bool, bool], Frame] = {}
        spellings = "|".join(map(re.escape, tokenizer.control_tokens))
        self._control = re.compile(f"({spellings})" if spellings else r"((?!))")

    def opening(self, *, system: bool) -> Frame:
        """From the start to where the first answer begins."""
        return self._frame(system, opening=True)

    def following(self, *, system: bool) -> Frame:
        """From where an answer ends to where the next one begins."""
        return self._frame(system, opening=False)

    def _frame(self, system: bool, *, opening: bool) -> Frame:
        if (system, opening) not in self._made:
            text = self._opening(system) if opening else self._following(system)
            self._made[system, opening] = tuple(self._spans(text))
        return self._made[system, opening]

    def _opening(self, system: bool) -> str:
        text = self._render(self._head(system))
        self._check(text, _USER, 1)
        self._check(text, _SYSTEM, int(system))
        return text

    def _following(self, system: bool) -> str:
        answer: TemplateMessage = {"role": "assistant", "content": _ANSWER}
        text = self._render([*self._head(system), answer, _message("user", _LATER)])
        self._check(text, _ANSWER, 1)
        text = text.partition(_ANSWER)[2]
        self._check(text, _USER, 0)
        self._check(text, _LATER, 1)
        return text.replace(_LATER, _USER)

    def _head(self, system: bool) -> list[TemplateMessage]:
        user = _message("user", _USER)
        if not system:
            return [user]
        head = [_message("system", _SYSTEM), user]
        try:
            knows_system = _SYSTEM in self._render(head)
        except ModelUnsupported:
            knows_system = False
        return head if knows_system else [_message("user", f"{_SYSTEM}\n\n{_USER}")]

    def _render(self, messages: list[TemplateMessage]) -> str:
        return self._tokenizer.render(messages, add_generation_prompt=True)

    def _check(self, text: str, stand_in: str, times: int) -> None:
        if text.count(stand_in) != times:
            raise ModelUnsupported(
                f"a message is written {text.count(stand_in)} times, not {times}, by the template",
                reason="its chat template doesn't write each message once, as it is",
            )

    def _spans(self, text: str) -> Iterator[int | Words]:
        for i, part in enumerate(self._control.split(text)):
            if i % 2:
                yield self._tokenizer.control_id(part)
            elif part:
                yield tuple(_words(part))


def _message(role: Role, stand_in: str) -> TemplateMessage:
    return {"role": role, "content": _SPACE + stand_in + _SPACE}


_STAND_IN = re.compile(f"({_SPACE})?({_SYSTEM}|{_USER})({_SPACE})?")


def _words(text: str) -> Iterator[str | Slot]:
    end = 0
    for found in _STAND_IN.finditer(text):
        left, stand_in, right = found.groups()
        if found.start() > end:
            yield text[end : found.start()]
        end = found.end()
        yield Slot(
            role="system" if stand_in == _SYSTEM else "user",
            strip_left=left is None,
            strip_right=right is None,
        )
    if end < len(text):
        yield text[end:]
