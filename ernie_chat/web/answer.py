"""One answer in the page: its text as it grows, then its line of numbers and its button.

Knows Chainlit's messages and sockets; knows no engine and no history.
"""

from __future__ import annotations

import uuid

import chainlit as cl
from chainlit.utils import utc_now

from ernie_chat.errors import Language
from ernie_chat.web.sockets import current_session
from ernie_chat.web.stats import Stats
from ernie_chat.web.texts import text


class AnswerView:
    """The answer to the user message `key`. Shown from its first text on; `close` ends it."""

    def __init__(self, *, key: str, language: Language) -> None:
        self.key = key
        self.language = language
        self.closed = False
        self.gone = False
        self._message = cl.Message(content="")
        self._message.created_at = utc_now()  # else a data layer sorts the answer first
        self._socket = current_session().socket_id
        self._stats_id = str(uuid.uuid4())
        self._stats: Stats | None = None
        self._action: cl.Action | None = None

    async def show(self, new: str) -> None:
        """Append `new` to what the browser shows."""
        if self._message.streaming and current_session().socket_id != self._socket:
            # The socket dropped and came back: what was sent in between is lost, so all of it.
            self._message.content += new
            await self._send_whole()
        else:
            await self._message.stream_token(new)

    async def close(self, stats: Stats) -> None:
        """The final text, marked with how it ended, its numbers and its button."""
        message = self._message
        message.content = message.content or text("nothing_said", self.language)
        message.metadata = {"ernie": stats.metadata()}
        shown = message.streaming
        self.closed = True
        self._stats = stats
        await (message.update() if shown else message.send())
        await self._send_trimmings()

    async def resend(self) -> None:
        """All of it again, for a browser that lost its socket for a while."""
        if self.closed or self._message.streaming:
            await self._send_whole()
        if self.closed:
            await self._send_trimmings()

    async def remove(self) -> None:
        """Take the answer out of the page."""
        self.gone = True
        await self.retire()
        await self._message.remove()

    async def retire(self) -> None:
        """Only the newest answer can be regenerated: take the button away."""
        if self._action is not None:
            await self._action.remove()
            self._action = None

    async def _send_whole(self) -> None:
        # "new_message" adds or replaces by id; "update_message" would be dropped by a browser
        # that missed the start.
        self._socket = current_session().socket_id
        await cl.context.emitter.send_step(self._message.to_dict())

    async def _send_trimmings(self) -> None:
        if self._stats is None:
            return
        # Sent as an event of its own instead of through cl.CustomElement, which would write a
        # file for every answer.
        await cl.context.emitter.send_element(
            {
                "id": self._stats_id,
                "threadId": cl.context.session.thread_id,
                "type": "custom",
                "name": "AnswerStats",
                "display": "inline",
                "forId": self._message.id,
                "mime": "application/json",
                "props": {
                    "parts": self._stats.line(self.language),
                    "help": text("stats_help", self.language),
                },
            }
        )
        await self.retire()
        self._action = cl.Action(
            name="regenerate",
            payload={"key": self.key},
            icon="refresh-cw",
            tooltip=text("regenerate", self.language),
        )
        await self._action.send(for_id=self._message.id)


async def note(kind: str, sentence: str, *, error: bool = False) -> cl.Message:
    """A sentence of the app itself between the messages. `kind` is for programs that read along:
    "notice", "error" or "status"."""
    message = cl.Message(content=sentence, metadata={"ernie": {"note": kind}})
    message.is_error = error
    await message.send()
    return message
