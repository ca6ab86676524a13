"""What the prefix cache gains on the real engine: TTFT of cached against computed prefixes, a
conversation's cached share, early prefill where turns leave, a flood that evicts, and hot prompts
in mixed traffic.

Prompts are random token ids but for the conversations and the hot prompts; each comes once, so
that nothing is found that isn't meant to be.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from ernie_chat.chat.session import ChatSession
from ernie_chat.chat.trimming import low_water
from ernie_chat.config.settings import Settings
from ernie_chat.engine.interface import Engine, Request, Sampling
from ernie_chat.measure.trimming import WORDS, conversation
from ernie_chat.prefix.catalogue import load
from ernie_chat.prefix.engine import WarmedEngine
from ernie_chat.prefix.metrics import PrefixMetrics
from ernie_chat.prefix.warmer import Prefix, Warmer
from ernie_chat.running import Running

LENGTHS = (64, 256, 512, 1024)
REPEATS = 9
TURNS = 20
EARLY_TURNS = 60
HOT_SHARE = 0.23
"""Of mixed traffic: the hit rate of the articles that the issue quotes."""
MIXED = 120

_ids = itertools.count()
_chance = random.Random(0)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. Seconds to the first token, and what of the prompt was cached."""

    ttft_s: float
    prompt_tokens: int
    cached_tokens: int
    answer_ids: tuple[int, ...]


async def ask(engine: Engine, ids: Sequence[int], *, max_tokens: int = 1, salt: str = "") -> Asked:
    """Greedy, without a stop token."""
    began, first, cached = time.perf_counter(), 0.0, 0
    made: list[int] = []
    request = Request(
        id=f"bench-{next(_ids)}",
        prompt_ids=ids,
        sampling=Sampling(temperature=0, max_tokens=max_tokens),
        cache_salt=salt,
    )
    async for delta in engine.stream(request):
        first = first or time.perf_counter() - began
        cached = delta.cached_tokens
        made += delta.token_ids
    return Asked(first, len(ids), cached, tuple(made))


def fresh(length: int) -> list[int]:
    """Ids of ordinary tokens in both of our models."""
    return _chance.choices(range(1000, 30_000), k=length)


async def bench(running: Running, settings: Settings, parts: Collection[str]) -> None:
    """Prints each of `parts` as it is done."""
    engine = running.engine
    print(
        f"{running.model.name}, context {engine.context_length}, KV blocks of"
        f" {engine.block_size}, cache of {engine.cache_tokens:,} tokens\n"
    )
    for _ in range(3):
        await ask(engine, fresh(200))
    for name, part in PARTS.items():
        if name in parts:
            await part(running, settings)


async def _ttft(running: Running, settings: Settings) -> None:
    engine = running.engine
    print("TTFT, a prefix and 8 tokens more; medians, alternating")
    print("| prefix | cold ms | hot ms | hot / cold |\n|---|---|---|---|")
    for length in LENGTHS:
        if length + 9 > engine.context_length:
            continue
        cold, hot = [], []
        for _ in range(REPEATS):
            prefix = fresh(length)
            cold.append((await ask(engine, prefix + fresh(8))).ttft_s * 1e3)
            hot.append((await ask(engine, prefix + fresh(8))).ttft_s * 1e3)
        one, other = statistics.median(cold), statistics.median(hot)
        print(f"| {length} | {one:.1f} | {other:.1f} | {other / one:.2f} |", flush=True)


async def _conversation(running: Running, settings: Settings) -> None:
    shares = (1.0, settings.history_low_water)
    print(f"\nA conversation of {TURNS} turns: prompt tokens found in the cache")
    print("| low water | cached |\n|---|---|")
    # At the same time: it saves minutes of decoding, and what is cached doesn't depend on it.
    found = await asyncio.gather(*(_cached_share(running, settings, share) for share in shares))
    for share, cached in zip(shares, found, strict=True):
        print(f"| {share} | {cached:.0%} |", flush=True)


async def _cached_share(running: Running, settings: Settings, share: float) -> float:
    chat = ChatSession.create(
        running.tokenizer,
        settings,
        context_length=running.engine.context_length,
        stop_token_ids=(),
        trimming=low_water(share),
    )
    asked = []
    for i, (message, answer) in enumerate(conversation(running.tokenizer, 1, TURNS)):
        prepared = chat.prepare(message, key=str(i), max_tokens=settings.max_tokens)
        length = min(len(answer), prepared.max_tokens)
        found = await ask(
            running.engine, prepared.prompt_ids, max_tokens=length, salt=f"chat {share}"
        )
        chat.commit(prepared, token_ids=found.answer_ids, text="", stopped=False)
        asked.append(found)
    return sum(a.cached_tokens for a in asked) / sum(a.prompt_tokens for a in asked)


async def _early(running: Running, settings: Settings) -> None:
    context = min(2048, running.engine.context_length)
    print(f"\n{EARLY_TURNS} long messages, short answers, context {context}: where turns leave")
    print("| early prefill | times | median TTFT ms | longest ms |\n|---|---|---|---|")
    for early in (False, True):
        salt = f"early {early}"
        chat = ChatSession.create(
            running.tokenizer, settings, context_length=context, stop_token_ids=()
        )
        most = context // 4
        warmer = Warmer(running.engine, PrefixMetrics({}), quiet_s=0)
        messages = random.Random(3)
        waited = []
        async with working(running.engine, warmer) as warmed:
            for i in range(EARLY_TURNS):
                message = " ".join(messages.choices(WORDS.split(), k=messages.randint(100, 200)))
                if early:
                    likely = chat.likely_prefix(max_tokens=most)
                    warmer.soon(Prefix(ids=tuple(likely), salt=salt))
                    await warmer.settled()
                prepared = chat.prepare(message, key=str(i), max_tokens=most)
                found = await ask(warmed, prepared.prompt_ids, max_tokens=16, salt=salt)
                chat.commit(prepared, token_ids=found.answer_ids, text="", stopped=False)
                if prepared.forgets:
                    waited.append(found.ttft_s * 1e3)
        print(
            f"| {'on' if early else 'off'} | {len(waited)} | {statistics.median(waited):.0f}"
            f" | {max(waited):.0f} |",
            flush=True,
        )


async def _flood(running: Running, settings: Settings) -> None:
    engine = running.engine
    print("\nA hot prefix of 512 tokens after a flood of 1.5 times the cache")
    print("| re-touch | cached | TTFT ms |\n|---|---|---|")
    for retouch in (None, 0.5):
        prefix = fresh(512)
        warmer = Warmer(engine, PrefixMetrics({}), retouch_share=retouch)
        warmer.hot([Prefix(ids=tuple(prefix))])
        async with working(engine, warmer) as warmed:
            flood = 0
            while flood < engine.cache_tokens * 1.5:
                await ask(warmed, fresh(1000))
                flood += 1000
            # At once: it would be warmed anew when nobody asks for a while.
            found = await ask(warmed, prefix + fresh(8))
        print(
            f"| {retouch or 'off'} | {found.cached_tokens} | {found.ttft_s * 1e3:.1f} |", flush=True
        )


async def _mixed(running: Running, settings: Settings) -> None:
    print(f"\nHot prompts as {HOT_SHARE:.0%} of {MIXED} requests, one after the other; mean TTFT")
    print("| | hot prompts ms | all ms | tokens cached |\n|---|---|---|---|")
    chat = ChatSession.create(
        running.tokenizer, settings, context_length=running.engine.context_length, stop_token_ids=()
    )
    hot = [
        chat.hot_ids(said, whole=not prompt.prefix)
        for prompt in load(settings.hot_prompts)
        for said in (prompt.message.en, prompt.message.zh)
    ]
    for name in ("no cache", "cache", "cache, warmed"):
        traffic = random.Random(7)
        prefixes = [Prefix(ids=tuple(ids)) for ids in hot] if name == "cache, warmed" else []
        # Prefixes that an earlier row left in the cache would be found: each row has a salt.
        prefixes = [Prefix(ids=prefix.ids, salt=name) for prefix in prefixes]
        asked: list[tuple[bool, Asked]] = []
        warmer = Warmer(running.engine, PrefixMetrics({}))
        warmer.hot(prefixes)
        async with working(running.engine, warmer) as warmed:
            for i in range(MIXED):
                is_hot = traffic.random() < HOT_SHARE
                ids = traffic.choice(hot) if is_hot else fresh(traffic.randint(20, 200))
                salt = f"{i}" if name == "no cache" else name
                asked.append((is_hot, await ask(warmed, ids + fresh(20), salt=salt)))
        means = [
            statistics.mean(found.ttft_s for is_hot, found in asked if is_hot or every) * 1e3
            for every in (False, True)
        ]
        cached = sum(found.cached_tokens for _, found in asked)
        share = cached / sum(found.prompt_tokens for _, found in asked)
        print(f"| {name} | {means[0]:.1f} | {means[1]:.1f} | {share:.0%} |", flush=True)


PARTS: Mapping[str, Callable[[Running, Settings], Awaitable[None]]] = {
    "ttft": _ttft,
    "conversation": _conversation,
    "early": _early,
    "flood": _flood,
    "mixed": _mixed,
}


@asynccontextmanager
async def working(engine: Engine, warmer: Warmer) -> AsyncIterator[Engine]:
    """`engine` for users, while `warmer` is at work on it; all is warm at first."""
    task = asyncio.create_task(warmer.run())
    try:
        await warmer.settled()
        yield WarmedEngine(engine, warmer, PrefixMetrics({}))
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
