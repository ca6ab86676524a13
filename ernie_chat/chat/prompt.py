"""A prompt as token ids: the frames of the model's template, filled with messages and answers.

Each stretch of text between two control tokens, the template's words and the message together, is
tokenised as one text, so the ids are those of the template's whole text, yet nothing a user types
becomes a control token. Answers are put in as the ids that were generated, never tokenised again:
the next prompt begins with exactly what the KV cache holds.

The limit: where a template marks roles by plain words, as ERNIE's does ("User: ",
"\\nAssistant: "), a user can type the same words, and to the model they look the same. Only roles
that are marked by control tokens can't be imitated. Knows no lengths and drops nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from ernie_chat.chat.frames import Frame, Frames
from ernie_chat.chat.history import Turn
from ernie_chat.chat.spans import Spans


class PromptBuilder:
    """Prompts of one chat."""

    def __init__(self, frames: Frames, spans: Spans, *, stop_token_ids: Collection[int]) -> None:
        self._frames = frames
        self._spans = spans
        self._stops = frozenset(stop_token_ids)

    def opening(self, system: str, message: str) -> list[int]:
        """A prompt for `message` alone. No system prompt is ''."""
        return list(self._fill(self._frames.opening(system=bool(system)), system, message))

    def following(self, system: str, message: str) -> list[int]:
        """What comes between the answer before and the answer to `message`: the template's end
        of turn, the message, the start of an answer."""
        return list(self._fill(self._frames.following(system=bool(system)), system, message))

    def prompt(self, system: str, turns: Sequence[Turn], message: str) -> list[int]:
        """`turns` with their answers, then `message`."""
        messages = [turn.message for turn in turns] + [message]
        ids = self.opening(system, messages[0])
        for turn, message in zip(turns, messages[1:], strict=True):
            ids.extend(chain(turn.answer_ids, self.following(system, message)))
        return ids

    def answer_ids(self, token_ids: Sequence[int]) -> tuple[int, ...]:
        """An answer's ids without the stop token: what follows in a prompt begins with the
        template's own end of turn, whether the model wrote it or was stopped before it could."""
        ended = bool(token_ids) and token_ids[-1] in self._stops
        return tuple(token_ids[:-1] if ended else token_ids)

    def _fill(self, frame: Frame, system: str, message: str) -> Iterator[int]:
        contents = {"system": system, "user": message}
        for part in frame:
            if isinstance(part, int):
                yield part
            else:
                words = (w if isinstance(w, str) else w.fill(contents[w.role]) for w in part)
                yield from self._spans.encode("".join(words))
