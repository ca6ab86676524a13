"""One user's chat with a running app, over Chainlit's real socket protocol: sends what the page
would send, and keeps what the page would show.

Written after Chainlit 2.12's own page (`useChatSession`, `useChatInteract`): the same handshake,
events and payloads, so that nothing can pass here that a browser would not see. It never answers
Chainlit's "ask" and "call_fn", which the product doesn't use. Knows no scripts and checks nothing.

Also made to be one of hundreds in a process: a piece of a stream costs an append.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import socketio

from ernie_chat.measure.transcript import Message, Transcript

CONNECT_S = 30.0
"""Seconds that a busy app may take to accept a socket."""


class ChatLost(Exception):
    """The app can't be reached, or this chat with it is over."""


class ChatClient:
    """Use as `async with ChatClient(url) as chat`. One task at a time may use it."""

    def __init__(
        self,
        url: str,
        *,
        language: str = "en-US",
        clock: Callable[[], float] = time.perf_counter,
        on_event: Callable[[float, str, Any], None] | None = None,
    ) -> None:
        """`url` is the page's. `on_event` is told each event that comes: when by `clock`, its
        name, its data."""
        parts = urlsplit(url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._root = parts.path.rstrip("/")
        self._language = language
        self._clock = clock
        self._on_event = on_event
        self._http: aiohttp.ClientSession | None = None
        self._socket: socketio.AsyncClient | None = None
        self._greeting = False
        self._lost: str | None = None
        self._change: asyncio.Future[None] | None = None
        self._pieces_matter = False
        self._begin_chat()

    def _begin_chat(self) -> None:
        self.session = str(uuid.uuid4())
        self.transcript = Transcript()
        self.busy = False
        """The page shows Stop instead of Send."""
        self.tasks_ended = 0
        """How many times the page's Stop went away since the chat began."""
        self.reconnects = 0
        self.panel: dict[str, Any] | None = None
        """The settings panel's values by id; None until the app has sent it."""
        self.status: dict[str, Any] | None = None
        """What the app last told the page's banner."""

    async def __aenter__(self) -> ChatClient:
        # A browser keeps cookies of http://127.0.0.1 as well.
        self._http = aiohttp.ClientSession(
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            headers={"Accept-Language": self._language},
        )
        try:
            await self._connect()
        except BaseException:
            await self._http.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._http is not None
        try:
            await self._disconnect(for_good=True)
        finally:
            await self._http.close()

    # What a user does

    async def say(self, text: str) -> str:
        """Send a message; its id."""
        message = {
            "threadId": "",
            "id": str(uuid.uuid4()),
            "name": "User",
            "type": "user_message",
            "output": text,
            "createdAt": datetime.now(UTC).isoformat(),
            "metadata": {"location": self._origin + self._root + "/"},
        }
        self.transcript.put(message, self._clock())
        await self._emit("client_message", {"message": message, "fileReferences": None})
        return str(message["id"])

    async def edit(self, message: Message, text: str) -> None:
        """Give an earlier message another text; what came after it is gone."""
        self.transcript.cut_after(message.id)
        await self._emit("edit_message", {"message": {**message.fields, "output": text}})

    async def stop(self) -> None:
        """Press Stop."""
        await self._emit("stop")

    async def press(self, name: str) -> None:
        """Press the newest button `name`; returns when the app has taken it. Raises LookupError
        when there is none."""
        buttons = self.transcript.buttons(name)
        if not buttons:
            raise LookupError(f"there is no button “{name}” in the page")
        await self._post("/project/action", {"sessionId": self.session, "action": buttons[-1]})

    async def change_settings(self, values: dict[str, Any]) -> None:
        """Confirm the settings panel with these values changed, and wait until the app has taken
        them. Raises LookupError for one that the panel doesn't have."""
        await self.until(lambda: self.panel is not None)
        assert self.panel is not None
        if unknown := sorted(set(values) - set(self.panel)):
            known = ", ".join(self.panel)
            raise LookupError(f"the settings panel has no “{unknown[0]}”; it has {known}")
        self.panel |= values
        taken = False

        def acknowledge(*_: Any) -> None:
            nonlocal taken
            taken = True
            self._wake()

        await self._emit("chat_settings_change", self.panel, acknowledge)
        await self.until(lambda: taken)

    async def reconnect(self, away_s: float) -> None:
        """Lose the socket as a browser does whose network goes away, and come back."""
        await self._disconnect(for_good=False)
        await asyncio.sleep(away_s)
        self.reconnects += 1
        await self._connect()

    async def new_chat(self) -> None:
        """The page's New Chat button."""
        await self._disconnect(for_good=True)
        self._begin_chat()
        await self._connect()

    # What a user sees

    async def until(self, condition: Callable[[], bool], *, pieces: bool = False) -> None:
        """Wait until `condition` holds, looking at it after each event; after each piece of a
        stream only if `pieces`. Raises ChatLost when the socket is lost before."""
        while not condition():
            if self._lost is not None:
                raise ChatLost(self._lost)
            self._change = asyncio.get_running_loop().create_future()
            self._pieces_matter = pieces
            await self._change

    def growing(self, since: int) -> Message | None:
        """The answer that is being written, of those that appeared from `since` on."""
        for message in reversed(self.transcript.since(since)):
            if message.of_assistant and message.streaming:
                return message
        return None

    # The wire

    async def _connect(self) -> None:
        assert self._http is not None
        self._lost = None
        self._greeting = True
        self._socket = socket = socketio.AsyncClient(
            reconnection=False, http_session=self._http, handle_sigint=False
        )
        socket.on("*", self._receive)
        socket.on("disconnect", self._dropped)
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._post("/set-session-cookie", {"session_id": self.session})
                # A browser begins with polling and upgrades at once; the app sees no difference.
                await socket.connect(
                    self._origin,
                    transports=["websocket"],
                    socketio_path=f"{self._root}/ws/socket.io",
                    auth={
                        "clientType": "webapp",
                        "sessionId": self.session,
                        "threadId": "",
                        "userEnv": "{}",
                        "chatProfile": "",
                    },
                    wait_timeout=CONNECT_S,
                )
                await self._emit("connection_successful")
                await self.until(lambda: not self._greeting)
        except (socketio.exceptions.ConnectionError, TimeoutError) as error:
            why = str(error) or f"no answer within {CONNECT_S:g} s"
            raise ChatLost(f"can't connect to {self._origin}{self._root}: {why}") from error

    async def _disconnect(self, *, for_good: bool) -> None:
        socket, self._socket = self._socket, None
        if socket is None or not socket.connected:
            return
        if for_good:
            with suppress(socketio.exceptions.SocketIOError):
                await socket.emit("clear_session")
        await socket.disconnect()

    async def _emit(
        self, event: str, data: Any = None, acknowledged: Callable[..., None] | None = None
    ) -> None:
        if self._socket is None or self._lost is not None:
            raise ChatLost(self._lost or "not connected")
        try:
            await self._socket.emit(event, data, callback=acknowledged)
        except socketio.exceptions.SocketIOError as error:
            raise ChatLost(self._lost or str(error)) from error

    async def _post(self, path: str, body: dict[str, Any]) -> None:
        assert self._http is not None
        try:
            async with self._http.post(self._origin + self._root + path, json=body) as response:
                if response.status >= 400:
                    detail = (await response.text())[:200]
                    raise ChatLost(f"{path} was refused with {response.status}: {detail}")
        except aiohttp.ClientError as error:
            raise ChatLost(f"can't reach {self._origin}{self._root}: {error}") from error

    def _receive(self, event: str, data: Any = None) -> None:
        at = self._clock()
        if self._on_event is not None:
            self._on_event(at, event, data)
        transcript = self.transcript
        match event:
            case "stream_token":
                transcript.append(data, at)
                if self._pieces_matter:
                    self._wake()
                return
            case "new_message" | "stream_start":
                transcript.put(data, at)
            case "update_message":
                transcript.update(data, at)
            case "delete_message":
                transcript.remove(data["id"])
            case "action":
                transcript.actions[data["id"]] = data
            case "remove_action":
                transcript.actions.pop(data["id"], None)
            case "element":
                transcript.elements[data["id"]] = data
            case "task_start":
                self.busy = True
            case "task_end":
                self.busy = False
                if not self._greeting:  # Chainlit greets each socket with one that ends no task
                    self.tasks_ended += 1
            case "clear_call_fn" if self._greeting:
                self._greeting = False  # the last word of the greeting
            case "chat_settings":
                self.panel = {widget["id"]: widget.get("initial") for widget in _widgets(data)}
            case "window_message" if isinstance(data, dict) and data.get("type") == "ernie-status":
                self.status = data
            case "reload":
                self._lose("the app was reloaded, and its page with it")
        self._wake()

    def _dropped(self, reason: str = "") -> None:
        if self._socket is not None:  # else it was wanted
            self._lose(f"the connection was lost ({reason or 'no reason given'})")

    def _lose(self, why: str) -> None:
        self._lost = self._lost or why
        self._wake()

    def _wake(self) -> None:
        if self._change is not None and not self._change.done():
            self._change.set_result(None)


def _widgets(inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The panel's widgets; those in tabs too."""
    flat: list[dict[str, Any]] = []
    for widget in inputs:
        flat.extend(_widgets(widget["inputs"]) if widget.get("type") == "tab" else [widget])
    return flat
