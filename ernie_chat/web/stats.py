"""What an answer cost, as its reader sees it: measured here from the deltas, shown as one line.

TTFT is the time from the request to its first token. Speed is decode speed: the tokens after
the first over the time they took (the inverse of vLLM's TPOT).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Literal

from ernie_chat.engine.interface import Delta
from ernie_chat.errors import Language
from ernie_chat.web.texts import text

End = Literal["stop", "length", "stopped", "error"]


@dataclass(slots=True)
class Stats:
    """Counts of one answer. Times in seconds; token counts as the engine reports them."""

    request: str
    dropped_tokens: int = 0
    """Tokens of old turns left out, to fit the context."""
    dropped_turns: int = 0
    left_out_tokens: int = 0
    """Tokens cut from the middle of the message itself."""
    began: float = field(default_factory=time.perf_counter)
    first: float | None = None
    last: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    first_tokens: int = 0
    """Tokens that came with the first delta."""
    end: End = "error"

    def add(self, delta: Delta) -> None:
        """Count a delta or frame, now."""
        self.last = time.perf_counter()
        self.answer_tokens += len(delta.token_ids)
        self.prompt_tokens = delta.prompt_tokens
        self.cached_tokens = delta.cached_tokens
        if self.first is None and delta.token_ids:
            self.first = self.last
            self.first_tokens = len(delta.token_ids)
        if delta.finish is not None:
            self.end = "length" if delta.finish == "length" else "stop"

    @property
    def ttft_s(self) -> float | None:
        return None if self.first is None else self.first - self.began

    @property
    def tokens_per_s(self) -> float | None:
        """None for answers too short to tell."""
        later = self.answer_tokens - self.first_tokens
        if self.first is None or later < 1 or self.last <= self.first:
            return None
        return later / (self.last - self.first)

    def line(self, language: Language) -> list[str]:
        """The parts of the line under the answer."""
        parts: list[str] = []
        if self.end in ("stopped", "length", "error"):
            parts.append(text(f"stats_{self.end}", language))
        if self.ttft_s is not None:
            parts.append(text("stats_first", language, seconds=f"{self.ttft_s:.2f}"))
        if self.tokens_per_s is not None:
            parts.append(text("stats_speed", language, speed=f"{self.tokens_per_s:.0f}"))
        if self.prompt_tokens:
            parts.append(text("stats_prompt", language, prompt=f"{self.prompt_tokens:,}"))
            parts.append(text("stats_cached", language, cached=f"{self.cached_tokens:,}"))
        if dropped := self.dropped_tokens + self.left_out_tokens:
            parts.append(text("stats_dropped", language, dropped=f"{dropped:,}"))
        return parts

    def metadata(self) -> dict[str, Any]:
        """For programs that read the chat: the message's `metadata["ernie"]`."""
        return {
            "request": self.request,
            "finish": self.end,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "answer_tokens": self.answer_tokens,
            "dropped_tokens": self.dropped_tokens,
            "dropped_turns": self.dropped_turns,
            "left_out_tokens": self.left_out_tokens,
            "ttft_ms": None if self.ttft_s is None else round(self.ttft_s * 1e3, 1),
            "tokens_per_s": None if self.tokens_per_s is None else round(self.tokens_per_s, 1),
        }
