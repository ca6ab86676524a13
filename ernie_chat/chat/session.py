"""One chat: the message that comes in becomes a prompt, the answer that comes out is kept.

`prepare` checks, truncates, trims and builds; `commit` remembers. In between an engine works, of
which this knows nothing. Not locked: one call at a time, from any thread.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ernie_chat.chat.frames import Frames
from ernie_chat.chat.history import Lengths, Trimming, Turn, oldest_first
from ernie_chat.chat.message import checked, well_formed
from ernie_chat.chat.prompt import PromptBuilder
from ernie_chat.chat.spans import spans_of
from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.chat.trimming import low_water
from ernie_chat.chat.truncate import LongText, Truncated
from ernie_chat.config.settings import Settings
from ernie_chat.errors import ModelUnsupported, SystemPromptTooLong

__all__ = ["ChatSession", "Prepared", "Truncated", "Turn"]

log = logging.getLogger(__name__)

MIN_ANSWER = 64
"""Tokens an answer may always have, if it asks for as many and the context isn't tiny."""

GOES_ON = ("Why?", "And", " Why?", "为什么？", "1", "-", "\n\n-")
"""Messages as different as messages are: what their prompts have in common, all have."""

FORGOTTEN_KEYS = 10_000
"""Messages out of the context whose keys are still known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A prompt to answer; `len(prompt_ids) + max_tokens` fits the context."""

    key: str
    message: str
    """As the model reads it."""
    prompt_ids: Sequence[int]
    max_tokens: int
    truncated: Truncated | None
    """What was cut out of this message."""
    dropped_turns: int
    """Turns of this chat, now or earlier, that the prompt is without."""
    dropped_tokens: int
    """The tokens they would take."""
    forgets: tuple[tuple[str, int], ...]
    """Key and tokens of each turn that is dropped now."""


class ChatSession:
    """See the module. Made by `create`."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        prompts: PromptBuilder,
        settings: Settings,
        *,
        context_length: int,
        trimming: Trimming,
    ) -> None:
        self._tokenizer = tokenizer
        self._prompts = prompts
        self._settings = settings
        self._context = context_length
        self._trimming = trimming
        self._system = ""
        self._turns: tuple[Turn, ...] = ()
        self._forgotten: dict[str, int] = {}  # key to tokens, oldest first

    @classmethod
    def create(
        cls,
        tokenizer: Tokenizer,
        settings: Settings,
        *,
        context_length: int,
        stop_token_ids: Collection[int],
        system_prompt: str = "",
        trimming: Trimming | None = None,
    ) -> ChatSession:
        """A new chat, trimmed as the settings say unless told otherwise. A system prompt that
        `set_system_prompt` would refuse is shortened: it comes from the configuration, and a
        chat must begin all the same."""
        prompts = PromptBuilder(
            Frames(tokenizer), spans_of(tokenizer), stop_token_ids=stop_token_ids
        )
        session = cls(
            tokenizer,
            prompts,
            settings,
            context_length=context_length,
            trimming=trimming or low_water(settings.history_low_water),
        )
        session._system = session._shortened_system(system_prompt)
        return session

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that prompts are still built from, oldest first."""
        return self._turns

    @property
    def system_prompt(self) -> str:
        return self._system

    @property
    def system_prompt_limit(self) -> int:
        """Tokens: a quarter of the context."""
        return self._context // 4

    def set_system_prompt(self, text: str) -> None:
        """From the next prompt on; blank is none. Raises SystemPromptTooLong and keeps the old
        one."""
        text = well_formed(text)
        measured = LongText(self._tokenizer, text)
        if not measured.fits(self.system_prompt_limit):
            raise SystemPromptTooLong(tokens=measured.tokens, limit=self.system_prompt_limit)
        self._system = text if text.strip() else ""

    def rewind(self, key: str) -> None:
        """Forget the turn with `key` and everything after it, because it is asked anew. A key
        that isn't known is a new message's, and changes nothing."""
        if key in self._forgotten:
            # It is older than every turn that is left.
            keys = list(self._forgotten)
            for later in keys[keys.index(key) :]:
                del self._forgotten[later]
            self._turns = ()
            return
        for i, turn in enumerate(self._turns):
            if turn.key == key:
                self._turns = self._turns[:i]
                return

    def restore(self, turns: Iterable[Turn]) -> None:
        """Undo: `turns` as they were before."""
        self._turns = tuple(turns)
        for turn in self._turns:
            self._forgotten.pop(turn.key, None)

    def prepare(self, text: str, *, key: str, max_tokens: int) -> Prepared:
        """The prompt for `text` after the turns so far; changes nothing.

        Earlier turns leave, oldest first, until the answer may have `max_tokens` (at least 1) or
        half the context, whichever is less. `Prepared.max_tokens` is what was asked for, or what
        is left. Raises EmptyMessage, MessageTooLarge, and ModelUnsupported when the model's
        template can't be used.
        """
        text = checked(text, max_chars=self._settings.max_message_chars)
        message, truncated = self._fitted(text, self._longest(max_tokens))
        forgets = self._trimmed(message, self._budget(message, max_tokens))
        turns = self._turns[len(forgets) :]
        prompt_ids = self._prompts.prompt(self._system, turns, message)
        prepared = Prepared(
            key=key,
            message=message,
            prompt_ids=prompt_ids,
            max_tokens=min(max_tokens, self._context - len(prompt_ids)),
            truncated=truncated,
            dropped_turns=len(self._forgotten) + len(forgets),
            dropped_tokens=sum(self._forgotten.values()) + sum(n for _, n in forgets),
            forgets=forgets,
        )
        if truncated:
            log.info(
                "a message of %d tokens: its first %d and last %d kept, %d left out",
                truncated.tokens_before, truncated.head, truncated.tail, truncated.left_out,
            )  # fmt: skip
        if forgets:
            log.info("%d turns of %d tokens left out", len(forgets), sum(n for _, n in forgets))
        return prepared

    def commit(
        self, prepared: Prepared, *, token_ids: Sequence[int], text: str, stopped: bool
    ) -> None:
        """Remember what was generated, however it ended.

        Without a single token, or with nothing but a stop token, the message isn't remembered
        either: an empty answer in a prompt teaches the model to give another.
        """
        for key, tokens in prepared.forgets:
            self._forgotten[key] = tokens
        while len(self._forgotten) > FORGOTTEN_KEYS:
            del self._forgotten[next(iter(self._forgotten))]
        gone = {key for key, _ in prepared.forgets}
        self._turns = tuple(turn for turn in self._turns if turn.key not in gone)
        if answer_ids := self._prompts.answer_ids(token_ids):
            turn = Turn(
                key=prepared.key,
                message=prepared.message,
                answer_ids=answer_ids,
                answer=text,
                stopped=stopped,
            )
            self._turns = (*self._turns, turn)

    # What prompts will begin with

    def system_ids(self) -> list[int]:
        """What every new chat's prompt begins with."""
        return self._beginning((), "")

    def hot_ids(self, text: str, *, whole: bool) -> list[int]:
        """The prompt of a new chat that begins with the message `text`; unless it is `whole`,
        only what stays the same whatever the message goes on with. Raises as `prepare`."""
        text = checked(text, max_chars=self._settings.max_message_chars)
        message, _ = self._fitted(text, self._longest(self._settings.max_tokens))
        if not whole:
            return self._beginning((), message)
        return self._prompts.opening(self._system, message)

    def likely_prefix(self, *, max_tokens: int) -> list[int]:
        """What the next prompt will begin with, if its message is as long as the one before."""
        if not self._turns:
            return self.system_ids()
        before = self._turns[-1].message
        forgets = self._trimmed(before, self._budget(before, max_tokens))
        return self._beginning(self._turns[len(forgets) :], "")

    def _beginning(self, turns: Sequence[Turn], text: str) -> list[int]:
        prompts = (self._prompts.prompt(self._system, turns, text + more) for more in GOES_ON)
        return [one for one, *_ in takewhile(_all_equal, zip(*prompts, strict=False))]

    def _longest(self, max_tokens: int) -> int:
        """Tokens a prompt may have at most; the rest is its answer's."""
        return self._context - min(max_tokens, MIN_ANSWER, self._context // 4)

    def _budget(self, message: str, max_tokens: int) -> int:
        """Tokens a prompt for `message` may have, history included."""
        alone = len(self._prompts.opening(self._system, message))
        return max(alone, self._context - min(max_tokens, self._context // 2))

    def _fitted(self, text: str, room: int) -> tuple[str, Truncated | None]:
        """`text`, cut if it is over the settings' limit or if with it the shortest prompt would
        be over `room` tokens."""
        head, tail = self._settings.truncate_head, self._settings.truncate_tail
        limit = min(room, head + tail) if self._settings.truncate else room
        measured = LongText(self._tokenizer, text)
        message, truncated = text, None
        if not measured.fits(limit):
            message, truncated = measured.cut(*_shares(limit, head, tail))
        while (excess := len(self._prompts.opening(self._system, message)) - room) > 0:
            kept = truncated.head + truncated.tail if truncated else measured.tokens
            limit = min(limit, kept) - excess
            if limit < 2:
                raise ModelUnsupported(
                    reason=f"its chat template alone fills {self._context} tokens"
                )
            message, truncated = measured.cut(*_shares(limit, head, tail))
        return message, truncated

    def _trimmed(self, message: str, budget: int) -> tuple[tuple[str, int], ...]:
        """Key and tokens of each turn that must go for the prompt to be within `budget`."""
        turns, system = self._turns, self._system
        messages = [turn.message for turn in turns] + [message]
        answered = [
            len(turn.answer_ids) + len(self._prompts.following(system, later))
            for turn, later in zip(turns, messages[1:], strict=True)
        ]

        def length(first: int) -> int:
            opening = len(self._prompts.opening(system, messages[first]))
            return opening + sum(answered[first:])

        lengths = Lengths(len(turns) + 1, length)
        first = self._trimming(lengths, budget)
        if lengths[first] > budget:
            first = oldest_first(lengths, budget)
        return tuple((turns[i].key, lengths[i] - lengths[i + 1]) for i in range(first))

    def _shortened_system(self, text: str) -> str:
        text = well_formed(text)
        measured = LongText(self._tokenizer, text)
        limit = self.system_prompt_limit
        if not measured.fits(limit):
            text, cut = measured.cut(limit * 3 // 4, limit - limit * 3 // 4)
            log.warning("the system prompt's %d tokens were cut to %d", cut.tokens_before, limit)
        return text if text.strip() else ""


def _all_equal(ids: tuple[int, ...]) -> bool:
    return ids.count(ids[0]) == len(ids)


def _shares(limit: int, head: int, tail: int) -> tuple[int, int]:
    """`limit` tokens, shared out as `head` to `tail`."""
    first = limit * head // (head + tail)
    return first, limit - first
