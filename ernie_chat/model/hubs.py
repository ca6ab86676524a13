"""What every model hub is to `locate`: a cache on this disk, a question, a download.

Knows no hub by itself; `huggingface` and `modelscope` are the two.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ernie_chat.model.source import OnProgress, Progress, Source

WANTED = [
    "config.json", "generation_config.json", "*.safetensors", "*.safetensors.index.json",
    "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt",
    "chat_template*",
]  # fmt: skip
UNWANTED = ["*/*", "*.py", "consolidated*"]
"""Other formats of the same weights lie in folders; code from a hub is never run."""


class HubSilent(Exception):
    """No answer in the time allowed, or no way to the hub at all."""


class NotOnHub(Exception):
    """The hub answered: no such model, or not for us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A hub's answer about a model: what `fetch` would bring."""

    total: int
    """Bytes of all the files wanted."""
    files: Any
    """In the hub client's own form."""


class Hub(Protocol):
    source: Source
    label: str
    """What to call it in the page."""

    def cached(self, repo: str) -> Path | None:
        """The model's folder in the hub client's cache, as far as the client knows whole."""

    def ask(self, repo: str, *, timeout_s: float) -> Listing:
        """What the hub has of `repo`. Raises HubSilent, NotOnHub; may hang past `timeout_s`
        where the client's own limit doesn't reach (name resolution), so call it `within`."""

    def fetch(self, repo: str, listing: Listing, on_progress: OnProgress) -> Path:
        """The model's folder, downloaded; goes on from where an earlier call was cut off and
        verifies checksums. Raises whatever the client raises."""


class Meter:
    """Counts bytes of several files, perhaps from several threads, into one `Progress`."""

    def __init__(self, hub: str, total: int, on_progress: OnProgress) -> None:
        self._hub, self._total, self._on_progress = hub, total, on_progress
        self._done = 0
        self._lock = threading.Lock()
        on_progress(Progress(hub=hub, done=0, total=total))

    def add(self, count: int) -> None:
        """`count` more bytes; negative when a file is begun anew."""
        with self._lock:
            self._done = max(0, self._done + count)
            done = min(self._done, self._total) if self._total else self._done
            self._on_progress(Progress(hub=self._hub, done=done, total=self._total))

    def finish(self) -> None:
        """All is here, the small files too that were not counted on the way."""
        self.add(self._total - self._done)


T = TypeVar("T")


def within(seconds: float, call: Callable[[], T]) -> T:
    """`call()`, or HubSilent after `seconds`, whatever it hangs in.

    What hangs is left behind in a daemon thread, which no exit waits for: name resolution can't
    be interrupted.
    """
    outcome: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcome.put((call(), None))
        except BaseException as error:  # carried over to the caller's thread
            outcome.put((None, error))

    threading.Thread(target=work, name="hub-question", daemon=True).start()
    try:
        result, error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise HubSilent(f"no answer within {seconds} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # None only where T allows it
