"""One browser's chat: its messages in order, one answer at a time, Stop, regenerate, coming back.

Maps what a user does to the chat room (what to ask) and the service (who answers), and shows
what happens. Every failure ends in one sentence in the user's language, loses nothing, and
leaves the next message working: Chainlit would swallow it.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from contextlib import aclosing, suppress

import chainlit as cl

from ernie_chat.chat.session import ChatSession, Prepared
from ernie_chat.config.settings import settings
from ernie_chat.engine.interface import Request, Sampling
from ernie_chat.errors import Busy, ErnieChatError, InputError, UnexpectedError
from ernie_chat.running import Running
from ernie_chat.service import service
from ernie_chat.web import status
from ernie_chat.web.answer import AnswerView, note
from ernie_chat.web.frames import frames
from ernie_chat.web.panel import Choices, widgets
from ernie_chat.web.sockets import current_session
from ernie_chat.web.stats import Stats
from ernie_chat.web.texts import language_of, text
from ernie_chat.web.user import user_of

log = logging.getLogger(__name__)

KEY = "conversation"
WAITING_LIMIT = 4
"""Messages that may wait behind the one being answered."""


class Conversation:
    """The chat of one Chainlit session. Made by `current`, kept in `cl.user_session`."""

    def __init__(self) -> None:
        self.language = language_of(current_session().language)
        self._session_id: str = cl.context.session.id
        self._user = user_of(current_session())
        self._chat: ChatSession | None = None
        self._choices: Choices | None = None
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._chores: set[asyncio.Task[None]] = set()
        self._view: AnswerView | None = None
        self._last: tuple[str, str] | None = None
        self._told_forgotten = False

    @classmethod
    def current(cls) -> Conversation:
        """The conversation of the session whose event is being handled."""
        found = cl.user_session.get(KEY)
        if found is None:
            found = cls()
            cl.user_session.set(KEY, found)
        conversation: Conversation = found
        return conversation

    # What the browser does

    async def begin(self) -> None:
        """A page has opened: say how the engine is, and show the panel once the model is known."""
        await cl.context.emitter.send_window_message(status.payload(service()))
        self._chore(self._show_panel())

    async def answer(self, said: str, *, key: str) -> None:
        """Answer a new message, or one that was edited (its `key` is known then)."""
        await self._take_turn(said, key, None)

    async def regenerate(self, payload: Mapping[str, object]) -> None:
        """Answer the newest message once more. Returns at once; the answer is a task of its own,
        so that no HTTP request hangs on it."""
        if self._last is None or payload.get("key") != self._last[0] or self._tasks:
            return
        key, said = self._last
        self._chore(self._again(said, key))

    async def stop(self) -> None:
        """End everything that is being answered or waits to be."""
        for task in list(self._tasks):
            task.cancel()

    async def change_settings(self, values: Mapping[str, object]) -> None:
        """The panel was confirmed."""
        async with self._turn:
            try:
                running = await service().ready()
                chat, choices = self._session(running)
                new = choices.changed(values)
                await asyncio.to_thread(chat.set_system_prompt, new.system_prompt)
                self._choices = new
            except ErnieChatError as error:
                await note("error", error.sentence(self.language))
                self._chore(self._show_panel())

    async def leave(self) -> None:
        """The socket is gone: for good (a new chat), or perhaps for a moment."""
        if current_session().to_clear:
            await self.stop()
        elif self._tasks:
            self._chore(self._give_up_later())

    async def come_back(self) -> None:
        """The socket is here again: what it may have missed, once more."""
        await cl.context.emitter.send_window_message(status.payload(service()))
        if self._tasks:
            await cl.context.emitter.task_start()
        if self._view is not None:
            await self._view.resend()

    # One turn

    async def _take_turn(self, said: str, key: str, replaces: AnswerView | None) -> None:
        if len(self._tasks) > WAITING_LIMIT:
            await note("notice", Busy().sentence(self.language))
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            async with self._turn:
                await self._guarded(said, key, replaces)
        finally:
            self._tasks.discard(task)

    async def _again(self, said: str, key: str) -> None:
        await cl.context.emitter.task_start()
        try:
            await self._take_turn(said, key, self._view)
        finally:
            await cl.context.emitter.task_end()

    async def _guarded(self, said: str, key: str, replaces: AnswerView | None) -> None:
        request = uuid.uuid4().hex[:8]
        try:
            await self._respond(said, key, request, replaces)
        except InputError as error:
            await note("notice", error.sentence(self.language))
        except ErnieChatError as error:
            log.error("request %s: %s: %s", request, error.code, error.detail)
            await note("error", error.sentence(self.language), error=True)
        except Exception:
            log.exception("request %s failed", request)
            sentence = UnexpectedError(request=request).sentence(self.language)
            await note("error", sentence, error=True)

    async def _respond(
        self, said: str, key: str, request: str, replaces: AnswerView | None
    ) -> None:
        running = await status.wait_visibly(service(), self.language)
        chat, choices = self._session(running)
        before = chat.turns
        chat.rewind(key)
        try:
            prepared = await asyncio.to_thread(
                chat.prepare, said, key=key, max_tokens=choices.max_tokens
            )
            if self._view is not None:
                await self._view.retire()
            await self._tell(prepared)
            await self._stream(running, chat, choices, prepared, request, replaces)
        except BaseException:
            if replaces is not None and not replaces.gone:
                chat.restore(before)  # the old answer still stands in the page: it still counts
            raise
        self._last = (key, said)
        await running.prefixes.answered(
            chat, prepared, max_tokens=choices.max_tokens, user=self._user
        )

    async def _stream(
        self,
        running: Running,
        chat: ChatSession,
        choices: Choices,
        prepared: Prepared,
        request: str,
        replaces: AnswerView | None,
    ) -> None:
        view = AnswerView(key=prepared.key, language=self.language)
        stats = Stats(
            request=request,
            dropped_tokens=prepared.dropped_tokens,
            dropped_turns=prepared.dropped_turns,
            left_out_tokens=prepared.truncated.left_out if prepared.truncated else 0,
        )
        ids: list[int] = []
        shown: list[str] = []
        salt, shared = running.prefixes.access(prepared.prompt_ids, self._user)
        deltas = running.engine.stream(
            Request(
                id=request,
                prompt_ids=prepared.prompt_ids,
                cache_salt=salt,
                shared_tokens=shared,
                sampling=Sampling(
                    temperature=choices.temperature,
                    top_p=choices.top_p,
                    repetition_penalty=choices.repetition_penalty,
                    max_tokens=prepared.max_tokens,
                    stop_token_ids=running.model.stop_token_ids,
                ),
            )
        )
        try:
            async with aclosing(frames(deltas, frame_s=settings().frame_ms / 1e3)) as stream:
                async for frame in stream:
                    if replaces is not None:
                        await replaces.remove()
                        replaces = None
                    self._view = view
                    stats.add(frame)
                    ids.extend(frame.token_ids)
                    shown.append(frame.text)
                    await view.show(frame.text)
        except asyncio.CancelledError:
            if replaces is not None:
                raise  # nothing new yet: the old answer stands
            stats.end = "stopped"
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
        finally:
            chat.commit(
                prepared, token_ids=ids, text="".join(shown), stopped=stats.end == "stopped"
            )
            if ids or stats.end != "error":
                self._view = view
                # A second Stop must not cut this short.
                await asyncio.shield(self._chore(view.close(stats)))
            log.info("request %s: %s", request, stats.metadata())

    # Around it

    def _session(self, running: Running) -> tuple[ChatSession, Choices]:
        if self._choices is None:
            self._choices = Choices.defaults(settings(), running.model.generation)
        if self._chat is None:
            self._chat = ChatSession.create(
                running.tokenizer,
                settings(),
                context_length=running.engine.context_length,
                stop_token_ids=running.model.stop_token_ids,
                system_prompt=self._choices.system_prompt,
            )
        return self._chat, self._choices

    async def _show_panel(self) -> None:
        with suppress(ErnieChatError):  # a failed start is told by the banner
            running = await service().ready()
            _, choices = self._session(running)
            await widgets(choices, self.language, running.engine.context_length).send()

    async def _tell(self, prepared: Prepared) -> None:
        if cut := prepared.truncated:
            await note(
                "notice",
                text(
                    "truncated",
                    self.language,
                    before=cut.tokens_before,
                    head=cut.head,
                    tail=cut.tail,
                    left_out=cut.left_out,
                ),
            )
        if prepared.dropped_turns and not self._told_forgotten:
            self._told_forgotten = True
            await note("notice", text("forgotten", self.language))

    async def _give_up_later(self) -> None:
        from chainlit.server import sio

        await asyncio.sleep(settings().disconnect_grace_s)
        if not sio.manager.is_connected(current_session().socket_id, "/"):
            await self.stop()

    def _chore(self, work: object) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)  # type: ignore[arg-type]
        self._chores.add(task)
        task.add_done_callback(self._chore_done)
        return task

    def _chore_done(self, task: asyncio.Task[None]) -> None:
        self._chores.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a chore of session %s failed", self._session_id, exc_info=error)
