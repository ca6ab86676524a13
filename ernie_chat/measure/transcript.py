"""What a browser would show of a chat, kept by the rules of Chainlit's own page: messages by id,
streamed pieces appended, an edit takes away what came after it.

Knows no sockets. Cheap for each piece, because load generators keep hundreds of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Message:
    """One message in the page. Times are those of the clock that the client was given."""

    __slots__ = ("_pieces", "arrivals", "fields", "length", "order")

    def __init__(self, fields: dict[str, Any], order: int, at: float) -> None:
        self.order = order
        """Messages are counted as they first appear."""
        self.arrivals: list[float] = []
        """When each piece of a streamed text came."""
        self._pieces: list[str] = []
        self.fields: dict[str, Any] = {}
        self.length = 0
        self.merge(fields, at)

    def merge(self, fields: dict[str, Any], at: float) -> None:
        """The message as the app sent it anew; what it left out stays."""
        self.fields.update(fields)
        if "output" in fields:
            self._pieces = [fields["output"]]
            self.length = len(fields["output"])
        if self.streaming:
            self.arrivals.append(at)

    def append(self, piece: str, *, instead: bool, at: float) -> None:
        """A piece of the stream; `instead` of all that was there, or after it."""
        if instead:
            self._pieces.clear()
            self.length = 0
        self._pieces.append(piece)
        self.length += len(piece)
        self.arrivals.append(at)

    @property
    def id(self) -> str:
        return str(self.fields["id"])

    @property
    def parent(self) -> str | None:
        return self.fields.get("parentId")

    @property
    def streaming(self) -> bool:
        return bool(self.fields.get("streaming"))

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def of_user(self) -> bool:
        return self.fields.get("type") == "user_message"

    @property
    def of_assistant(self) -> bool:
        return self.fields.get("type") == "assistant_message"

    @property
    def of_app(self) -> bool:
        """Chainlit's record of the app's work on a message, to which that work's messages belong;
        the page doesn't draw it."""
        return self.fields.get("type") == "run"

    @property
    def ended(self) -> bool:
        """The work that this records is over."""
        return self.fields.get("end") is not None

    @property
    def numbers(self) -> dict[str, Any]:
        """What the app tells programs about this message."""
        numbers = (self.fields.get("metadata") or {}).get("ernie")
        return numbers if isinstance(numbers, dict) else {}

    @property
    def finish(self) -> str | None:
        """How this answer ended; None for one that grows, and for what is no answer."""
        return self.numbers.get("finish")

    @property
    def note(self) -> str | None:
        """The kind of a sentence of the app's own: "notice", "error" or "status"."""
        return self.numbers.get("note")

    @property
    def failed(self) -> bool:
        """The page shows this as an error."""
        return self.of_assistant and (self.note == "error" or bool(self.fields.get("isError")))


class Transcript:
    """The messages, buttons and extras of one chat as its page shows them now."""

    def __init__(self) -> None:
        self._messages: dict[str, Message] = {}
        self._next = 0
        self.actions: dict[str, dict[str, Any]] = {}
        self.elements: dict[str, dict[str, Any]] = {}

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages.values())

    @property
    def end(self) -> int:
        """The order of the next message to appear."""
        return self._next

    def since(self, order: int) -> list[Message]:
        """The messages that appeared from `order` on and are still there."""
        return [message for message in self if message.order >= order]

    def buttons(self, name: str) -> list[dict[str, Any]]:
        """The actions `name` under messages that are there, oldest first."""
        return [
            action
            for action in self.actions.values()
            if action["name"] == name and action["forId"] in self._messages
        ]

    def put(self, fields: dict[str, Any], at: float) -> None:
        """A new message, or a known one sent anew."""
        known = self._messages.get(fields["id"])
        if known is not None:
            known.merge(fields, at)
        else:
            self._messages[fields["id"]] = Message(fields, self._next, at)
            self._next += 1

    def update(self, fields: dict[str, Any], at: float) -> None:
        """A change of a known message; of one that the page never saw, nothing."""
        if known := self._messages.get(fields["id"]):
            known.merge(fields, at)

    def append(self, token: dict[str, Any], at: float) -> None:
        """A piece of a known message's stream."""
        if (known := self._messages.get(token["id"])) and not token["isInput"]:
            known.append(token["token"], instead=token["isSequence"], at=at)

    def remove(self, identity: str) -> None:
        """A message disappears, with what belongs to it."""
        self._keep(lambda message: all(m.id != identity for m in self._line_of(message)))

    def cut_after(self, identity: str) -> None:
        """What the page does with an edited message: nothing that came after it stays."""
        edited = self._messages[identity]
        self._keep(lambda message: message is edited or self._root(message).order < edited.order)

    def _keep(self, wanted: Any) -> None:
        self._messages = {m.id: m for m in self if wanted(m)}

    def _line_of(self, message: Message) -> Iterator[Message]:
        """A message, the one it belongs to, and so on."""
        seen = set()
        current: Message | None = message
        while current is not None and current.id not in seen:
            seen.add(current.id)
            yield current
            current = self._messages.get(current.parent) if current.parent else None

    def _root(self, message: Message) -> Message:
        *_, root = self._line_of(message)
        return root
