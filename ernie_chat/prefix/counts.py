"""What chats begin with again and again, learned from use.

Counted are whole messages, and beginnings of 64, 128, ... 2,048 characters: an instruction that is
followed by another text each time recurs only as a beginning. Counts fade with a half-life of a
week. Spellings that differ in spaces and case count as one, and the latest is kept, because only
the same characters give the same tokens.

Users are remembered as keyed hashes, at most as many as it takes to know that a text is common.
"""

from __future__ import annotations

import hashlib
import math
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from cachetools import LRUCache

HALF_LIFE_S: Final = 7 * 86_400.0
MAX_BYTES: Final = 4 * 2**20
"""Of memory, about. What wasn't seen for longest goes first; what is frequent was seen lately."""
MAX_CHARS: Final = 2048
"""Longer messages are counted only by their beginnings."""
BEGINNINGS: Final = (64, 128, 256, 512, 1024, 2048)
SHARED_USERS: Final = 3
"""So many users have to begin a chat with a text before it is nobody's secret."""
HOT: Final = 1.5
"""Faded count from which a text is worth prefilling: two chats within a week, the second now."""
FORGOTTEN: Final = 0.25
"""Faded count below which a text isn't kept over a restart: two chats, three weeks ago."""

MAX_NAMES: Final = 10_000
"""Users whose names are known at a time."""

_ENTRY_BYTES = 750
"""What an entry takes beside its text; measured with tracemalloc."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A text that recurs."""

    text: str
    whole: bool
    """The whole message; otherwise its beginning."""
    user: str | None
    """Whose it is; None if it is everybody's."""


@dataclass(slots=True)
class Entry:
    """A text and how often it was seen. Plain data, as it is in the file."""

    text: str
    whole: bool
    count: float = 0.0
    """Faded, as of `at`."""
    at: float = 0.0
    """Seconds since the epoch."""
    users: list[str] = field(default_factory=list)
    """Hashes of up to `SHARED_USERS` users."""
    endings: list[str] = field(default_factory=list)
    """Hashes of up to two ways a message went on after a beginning."""

    def faded(self, now: float) -> float:
        """The count as of `now`."""
        return self.count * math.exp2(min(0.0, self.at - now) / HALF_LIFE_S)

    @property
    def recurs(self) -> bool:
        """Seen more than once; a beginning with more than one ending, or the whole message is
        what recurs."""
        return self.count > 1 if self.whole else len(self.endings) > 1


class PromptCounts:
    """See the module. `key` makes the hashes; it has to come back with the entries."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self._entries: LRUCache[str, Entry] = LRUCache(MAX_BYTES, getsizeof=_size)
        self._names: LRUCache[str, str] = LRUCache(MAX_NAMES)

    def meet(self, user: str) -> None:
        """What this user asked in earlier runs is known to be this user's from now on."""
        self._names[self._hash(user)] = user

    def saw(self, text: str, *, user: str, now: float | None = None) -> None:
        """`user` began a chat with `text`."""
        now = time.time() if now is None else now
        self.meet(user)
        if len(text) <= MAX_CHARS:
            self._count(text, "", whole=True, user=user, now=now)
        for length in BEGINNINGS:
            if length < len(text):
                self._count(text[:length], text[length:], whole=False, user=user, now=now)

    def hottest(self, most: int, *, now: float | None = None) -> list[Learned]:
        """Up to `most` texts, those first that save most. What belongs to a user who hasn't been
        met since the start is left out."""
        now = time.time() if now is None else now
        weighed = [
            (count * len(entry.text), entry)
            for entry in self._entries.values()
            if entry.recurs and (count := entry.faded(now)) >= HOT
        ]
        weighed.sort(key=lambda pair: pair[0], reverse=True)
        found: list[Learned] = []
        for _, entry in weighed:
            if len(found) >= most:
                break
            found += [item for item in self._learned(entry) if not _covered(item, found)]
        return found[:most]

    def entries(self, *, now: float | None = None) -> list[Entry]:
        """What is worth keeping: nothing that was asked only once, or long ago."""
        now = time.time() if now is None else now
        return [e for e in self._entries.values() if e.recurs and e.faded(now) >= FORGOTTEN]

    def restore(self, entries: list[Entry]) -> None:
        """Of an earlier run. What was seen since wins."""
        for entry in entries:
            name = self._name(entry.text, whole=entry.whole)
            if name not in self._entries and len(entry.text) <= MAX_CHARS:
                self._entries[name] = entry

    def _count(self, text: str, ending: str, *, whole: bool, user: str, now: float) -> None:
        name = self._name(text, whole=whole)
        entry = self._entries.pop(name, None) or Entry(text=text, whole=whole)
        entry.text = text
        entry.count, entry.at = entry.faded(now) + 1, now
        _add(entry.users, self._hash(user), SHARED_USERS)
        if not whole:
            _add(entry.endings, self._hash(ending), 2)
        self._entries[name] = entry

    def _learned(self, entry: Entry) -> Iterator[Learned]:
        if len(entry.users) >= SHARED_USERS:
            yield Learned(entry.text, entry.whole, None)
            return
        for user in entry.users:
            if (name := self._names.get(user)) is not None:
                yield Learned(entry.text, entry.whole, name)

    def _name(self, text: str, *, whole: bool) -> str:
        same = " ".join(unicodedata.normalize("NFC", text).casefold().split())
        return self._hash(f"{whole} {same}")

    def _hash(self, text: str) -> str:
        return hashlib.blake2b(text.encode(), digest_size=16, key=self.key).hexdigest()


def _covered(item: Learned, found: list[Learned]) -> bool:
    """Whether who may find `item` finds a text that begins with it: another user's doesn't help."""
    return any(one.user in (None, item.user) and one.text.startswith(item.text) for one in found)


def _add(hashes: list[str], one: str, most: int) -> None:
    if one not in hashes and len(hashes) < most:
        hashes.append(one)


def _size(entry: Entry) -> int:
    return _ENTRY_BYTES + len(entry.text.encode())
