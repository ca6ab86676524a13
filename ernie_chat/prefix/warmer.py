"""Prefills prefixes before they are asked for, when the engine has nothing better to do.

A warm-up is a request for one token at the lowest priority. It is made in chunks, each a longer
beginning of the prefix that finds the one before in the cache: so a user who asks waits for a
chunk at most, and what was computed stays. Only whole KV blocks are warmed.

vLLM evicts the block that was used longest ago. So a warmed prefix is as old as the tokens that
were computed since it was last touched; at `retouch_share` of the cache it is touched again.
That costs one block, so it is done even while users are served.

Knows engines, not what prefixes mean. Use from one event loop.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

from ernie_chat.engine.interface import Engine, Request, Sampling
from ernie_chat.errors import EngineDied
from ernie_chat.prefix.metrics import PrefixMetrics

log = logging.getLogger(__name__)

PRIORITY = 100
"""Users have 0, and lower goes first."""
HOT_SHARE = 0.25
"""Share of the KV cache that hot prefixes may take together."""
LOST_SHARE = 0.9
"""Of the cache, computed since the last touch: the prefix must be taken for evicted."""
MOST_SOON = 32
"""Likely prefixes that wait to be prefilled; beyond, the oldest is given up."""

_ids = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The beginning of prompts that may come, and who may find it (see `Request`)."""

    ids: tuple[int, ...]
    salt: str = ""
    shared_tokens: int = 0


class Warmer:
    """See the module. `run` does the work; the rest tells it what there is to do."""

    def __init__(
        self,
        engine: Engine,
        metrics: PrefixMetrics,
        *,
        chunk_tokens: int = 128,
        quiet_s: float = 0.2,
        retouch_share: float | None = 0.5,
    ) -> None:
        """Warm-ups begin `quiet_s` seconds after the last answer. Without a `retouch_share`
        nothing is touched again."""
        self._engine = engine
        self._metrics = metrics
        self._block = engine.block_size
        self._chunk = max(chunk_tokens // self._block, 1) * self._block
        self._quiet_s = quiet_s
        self._retouch_share = retouch_share
        self._hot: list[Prefix] = []
        self._soon: dict[Prefix, None] = {}
        self._touched: dict[Prefix, int] = {}
        self._clock = 0  # tokens computed so far
        self._users = 0
        self._quiet_until = 0.0
        self._news = asyncio.Event()
        self._nothing_left = asyncio.Event()
        self._working: asyncio.Task[None] | None = None

    @property
    def block_size(self) -> int:
        """Tokens."""
        return self._block

    # What there is to do

    def hot(self, prefixes: Iterable[Prefix]) -> None:
        """These are to stay in the cache from now on, the most important first. What fills no
        block of its own or goes beyond `HOT_SHARE` of the cache is left out."""
        kept: list[Prefix] = []
        room = int(self._engine.cache_tokens * HOT_SHARE)
        covered: set[int] = set()
        for prefix in map(self._whole_blocks, prefixes):
            new = set(self._block_hashes(prefix)) - covered
            if new and len(new) * self._block <= room:
                room -= len(new) * self._block
                covered |= new
                kept.append(prefix)
        self._hot = kept
        self._touched = {p: at for p, at in self._touched.items() if p in kept}
        self._look()

    def soon(self, prefix: Prefix) -> None:
        """Prefill this once, before the hot ones: somebody will likely go on from it."""
        prefix = self._whole_blocks(prefix)
        if prefix.ids:
            self._soon.pop(prefix, None)
            self._soon[prefix] = None
            if len(self._soon) > MOST_SOON:
                del self._soon[next(iter(self._soon))]
            self._look()

    # What happens meanwhile

    def user_asks(self) -> None:
        """Stop what is being warmed: a user comes first."""
        self._users += 1
        if self._working is not None:
            self._working.cancel()

    def user_served(self, computed_tokens: int) -> None:
        """The answer has ended; it took the cache so many tokens."""
        self._users -= 1
        self._clock += computed_tokens
        self._quiet_until = time.monotonic() + self._quiet_s
        self._look()

    async def settled(self) -> None:
        """Returns once `run` has nothing left to do."""
        await self._nothing_left.wait()

    async def run(self) -> None:
        """Work until cancelled, or until the engine dies."""
        with suppress(EngineDied):
            while True:
                self._news.clear()
                if (aged := self._next_aged()) is not None:
                    await self._touch(aged)
                elif (cold := self._next_cold()) is None:
                    self._nothing_left.set()
                    await self._news.wait()
                elif (pause := self._quiet_until - time.monotonic()) > 0:
                    await asyncio.sleep(pause)
                elif self._users:
                    await self._news.wait()
                else:
                    await self._stoppable(cold)

    # The work

    def _look(self) -> None:
        self._nothing_left.clear()
        self._news.set()

    def _next_cold(self) -> Prefix | None:
        lost = self._clock - self._engine.cache_tokens * LOST_SHARE
        cold = (p for p in self._hot if self._touched.get(p, -1) < max(lost, 0))
        return next(iter(self._soon), None) or next(cold, None)

    def _next_aged(self) -> Prefix | None:
        if self._retouch_share is None:
            return None
        cache = self._engine.cache_tokens
        newest, oldest = self._clock - cache * self._retouch_share, self._clock - cache * LOST_SHARE
        aged = (p for p, at in self._touched.items() if max(oldest, 0) <= at < newest)
        return next(aged, None)

    async def _touch(self, prefix: Prefix) -> None:
        self._touched[prefix] = self._clock
        self._metrics.count("re_touches")
        self._metrics.count("warm_up_tokens", await self._prefill(prefix, len(prefix.ids)))

    async def _stoppable(self, prefix: Prefix) -> None:
        self._working = working = asyncio.create_task(self._warm(prefix), name="warm-up")
        try:
            await asyncio.wait({working})
        finally:
            self._working = None
            working.cancel()
        if working.cancelled():
            self._metrics.count("warm_ups_cancelled")
        else:
            working.result()

    async def _warm(self, prefix: Prefix) -> None:
        for end in range(self._chunk, len(prefix.ids) + self._chunk, self._chunk):
            end = min(end, len(prefix.ids))
            self._metrics.count("warm_up_tokens", await self._prefill(prefix, end))
        self._soon.pop(prefix, None)
        if prefix in self._hot:
            self._touched[prefix] = self._clock
        self._metrics.count("warm_ups")

    async def _prefill(self, prefix: Prefix, end: int) -> int:
        """Tokens that had to be computed."""
        request = Request(
            id=f"warm-up-{next(_ids)}",
            prompt_ids=prefix.ids[:end],
            sampling=Sampling(temperature=0, max_tokens=1),
            priority=PRIORITY,
            cache_salt=prefix.salt,
            shared_tokens=prefix.shared_tokens,
        )
        computed = 0
        async with aclosing(self._engine.stream(request)) as deltas:
            async for delta in deltas:
                computed = delta.prompt_tokens - delta.cached_tokens
        self._clock += computed
        return computed

    def _whole_blocks(self, prefix: Prefix) -> Prefix:
        # The engine must have room for the one token.
        longest = min(len(prefix.ids), self._engine.context_length - 1)
        return replace(prefix, ids=prefix.ids[: longest // self._block * self._block])

    def _block_hashes(self, prefix: Prefix) -> Iterator[int]:
        """As the engine's own: of a block's ids, the hash before, and the salt where the first
        token isn't shared."""
        value = 0
        for start in range(0, len(prefix.ids), self._block):
            end = start + self._block
            own = prefix.salt if start <= prefix.shared_tokens < end else ""
            value = hash((value, prefix.ids[start:end], own))
            yield value


def common_length(one: Sequence[int], other: Sequence[int]) -> int:
    """How many ids both begin with."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))
