"""What the prefix cache does for this app, counted.

The numbers live in one plain dict, which a reload of the app keeps. Knows no engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COUNTERS: Final[Mapping[str, str]] = {
    "requests": "Answers asked for.",
    "requests_hit": "Answers whose prompt was found in the prefix cache, at least its first block.",
    "prompt_tokens": "Prompt tokens of all answers.",
    "cached_tokens": "Prompt tokens found in the prefix cache.",
    "warm_ups": "Prefixes prefilled before anybody asked for them.",
    "warm_up_tokens": "Tokens computed for them.",
    "warm_ups_cancelled": "Warm-ups stopped because a user asked; they go on later.",
    "re_touches": "Prefixes touched again because they would have been evicted soon.",
}
"""Name to meaning."""

MIN_OBSERVATIONS = 8
"""Prefills to have seen before their cost is estimated."""


class PrefixMetrics:
    """Counts over `numbers`, which may come from code loaded before this."""

    def __init__(self, numbers: dict[str, float]) -> None:
        self._numbers = numbers
        for name in (*COUNTERS, "n", "x", "y", "xx", "xy"):
            numbers.setdefault(name, 0)

    def answered(self, *, prompt_tokens: int, cached_tokens: int, prefill_s: float | None) -> None:
        """A user's answer has begun. `prefill_s`: seconds its prefill took, if known."""
        self.count("requests")
        self.count("requests_hit", int(cached_tokens > 0))
        self.count("prompt_tokens", prompt_tokens)
        self.count("cached_tokens", cached_tokens)
        if prefill_s is not None:
            self.observe(prompt_tokens - cached_tokens, prefill_s)

    def observe(self, computed_tokens: int, prefill_s: float) -> None:
        """Learn what prefill costs from one: `computed_tokens` took `prefill_s` seconds."""
        for name, value in (
            ("n", 1.0),
            ("x", computed_tokens),
            ("y", prefill_s),
            ("xx", computed_tokens**2),
            ("xy", computed_tokens * prefill_s),
        ):
            self._numbers[name] += value

    def count(self, name: str, more: int = 1) -> None:
        """Add to the counter `name`."""
        self._numbers[name] += more

    def __getitem__(self, name: str) -> float:
        return self._numbers[name]

    @property
    def hit_rate_tokens(self) -> float | None:
        """Cached share of all prompt tokens; None before the first."""
        return _share(self["cached_tokens"], self["prompt_tokens"])

    @property
    def hit_rate_requests(self) -> float | None:
        """Share of answers with anything cached; None before the first."""
        return _share(self["requests_hit"], self["requests"])

    @property
    def prefill_s_per_token(self) -> float:
        """Slope of the least-squares line through all (computed tokens, seconds) seen: what one
        token more costs, without what every request costs. 0 until there is a line."""
        n, x, y, xx, xy = (self._numbers[name] for name in ("n", "x", "y", "xx", "xy"))
        spread = n * xx - x * x
        if n < MIN_OBSERVATIONS or spread <= 0:
            return 0.0
        return max(0.0, (n * xy - x * y) / spread)

    @property
    def saved_prefill_s(self) -> float:
        """Seconds of prefill that users didn't wait for: an estimate, cached tokens times
        `prefill_s_per_token`."""
        return self["cached_tokens"] * self.prefill_s_per_token

    def snapshot(self) -> dict[str, float | None]:
        """Everything, for those who show or serve it."""
        return {
            **{name: self[name] for name in COUNTERS},
            "hit_rate_tokens": self.hit_rate_tokens,
            "hit_rate_requests": self.hit_rate_requests,
            "saved_prefill_s": self.saved_prefill_s,
        }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
