"""How the engine is: one value that the page, health routes and logs read.

Plain data goes in and out (`as_plain`, `from_plain`), because a status outlives a reload of this
module while objects of its classes must not.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Literal

from ernie_chat.errors import ErnieChatError, from_plain

State = Literal["idle", "downloading", "loading", "warming", "ready", "failed", "stopped"]

SETTLED: frozenset[State] = frozenset({"ready", "failed", "stopped"})
"""States that don't change by themselves (but a ready engine may die)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One moment. `error` is set when `state` is "failed"."""

    state: State = "idle"
    progress: float | None = None
    """Share of a download that is done, 0 to 1; None when unknown or nothing is downloaded."""
    hub: str | None = None
    """Where the download comes from."""
    error: ErnieChatError | None = None
    restart_needed: bool = False
    """A setting that shapes the engine has changed since it was started."""
    since: float = field(default_factory=time.time)
    """When this state began, seconds since the epoch."""

    def as_plain(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "progress": self.progress,
            "hub": self.hub,
            "error": self.error.as_plain() if self.error else None,
            "since": self.since,
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any], *, restart_needed: bool = False) -> Status:
        error = plain["error"]
        return cls(
            state=plain["state"],
            progress=plain["progress"],
            hub=plain["hub"],
            error=from_plain(error) if error else None,
            restart_needed=restart_needed,
            since=plain["since"],
        )
