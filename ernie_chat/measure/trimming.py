"""What trimming costs and keeps, counted without an engine: real chats, real token ids, and a
prefix cache that is large enough to lose nothing.

Each made-up conversation is the same for every policy: message and answer lengths are drawn from
log-normal distributions around `MESSAGE` and `ANSWER` tokens, from a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ernie_chat.chat.session import ChatSession
from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.chat.trimming import low_water
from ernie_chat.config.settings import Settings
from ernie_chat.prefix.warmer import common_length

MESSAGE: Final = (25, 0.9)
"""Tokens in the median message, and the spread of their logarithm."""
ANSWER: Final = (150, 0.7)
WORDS: Final = " the of and to in is you that it he was for on are as with his they"
"""A token each."""
SHARES: Final = (1.0, 0.9, 0.75, 0.6, 0.5, 0.4)
CONTEXTS: Final = (1024, 2048, 4096)
TURNS: Final = (20, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One policy over some conversations."""

    context_length: int
    turns: int
    share: float
    cached: float
    """Share of prompt tokens that were found in the cache, whole blocks only."""
    cached_early: float
    """Likewise if the likely prefix is prefilled after each answer."""
    slow: float
    """Share of messages for which over half the prompt had to be computed, after the first."""
    slow_early: float
    remembered: float
    """Mean tokens of the answers that a prompt holds, once turns had to leave; 0 if none had to."""


def simulate(
    tokenizer: Tokenizer,
    settings: Settings,
    *,
    context_length: int,
    turns: int,
    share: float,
    block_size: int,
    chats: int = 10,
) -> Outcome:
    """`chats` conversations of `turns` turns each."""
    prompt_tokens = cached = cached_early = slow = slow_early = trimmed = remembered = 0
    for seed in range(chats):
        chat = ChatSession.create(
            tokenizer,
            settings,
            context_length=context_length,
            stop_token_ids=(),
            trimming=low_water(share),
        )
        before: list[int] = []
        for message, answer in conversation(tokenizer, seed, turns):
            early = chat.likely_prefix(max_tokens=settings.max_tokens)
            prepared = chat.prepare(message, key=str(len(before)), max_tokens=settings.max_tokens)
            ids = list(prepared.prompt_ids)
            answer = answer[: prepared.max_tokens]
            found = _found(ids, before, block_size)
            found_early = max(found, _found(ids, early, block_size))
            prompt_tokens += len(ids)
            cached += found
            cached_early += found_early
            if before:
                slow += found < len(ids) / 2
                slow_early += found_early < len(ids) / 2
            chat.commit(prepared, token_ids=answer, text="", stopped=False)
            if prepared.dropped_turns:
                trimmed += 1
                remembered += sum(len(turn.answer_ids) for turn in chat.turns[:-1])
            before = ids + answer
    later = chats * (turns - 1)
    return Outcome(
        context_length=context_length,
        turns=turns,
        share=share,
        cached=cached / prompt_tokens,
        cached_early=cached_early / prompt_tokens,
        slow=slow / later,
        slow_early=slow_early / later,
        remembered=remembered / trimmed if trimmed else 0,
    )


def conversation(tokenizer: Tokenizer, seed: int, turns: int) -> Iterator[tuple[str, list[int]]]:
    """Messages, and the token ids of their answers."""
    chance = random.Random(seed)
    ids = tokenizer.encode(WORDS)
    for _ in range(turns):
        message = " ".join(chance.choices(WORDS.split(), k=_length(chance, MESSAGE)))
        yield message, chance.choices(ids, k=_length(chance, ANSWER))


def _length(chance: random.Random, about: tuple[int, float]) -> int:
    median, spread = about
    return max(1, round(median * chance.lognormvariate(0, spread)))


def _found(ids: Sequence[int], earlier: Sequence[int], block_size: int) -> int:
    """Tokens of whole blocks that both begin with; the last token is always computed."""
    return min(common_length(ids, earlier), len(ids) - 1) // block_size * block_size


def table(tokenizer: Tokenizer, settings: Settings, *, block_size: int) -> None:
    """Prints every policy for every context, as Markdown."""
    print("| context | turns | low water | cached | early | slow | slow, early | remembered |")
    print("|---|---|---|---|---|---|---|---|")
    for context_length in CONTEXTS:
        for turns in TURNS:
            for share in SHARES:
                found = simulate(
                    tokenizer,
                    settings,
                    context_length=context_length,
                    turns=turns,
                    share=share,
                    block_size=block_size,
                )
                print(
                    f"| {context_length} | {turns} | {share} | {found.cached:.0%}"
                    f" | {found.cached_early:.0%} | {found.slow:.0%} | {found.slow_early:.0%}"
                    f" | {found.remembered:.0f} |",
                    flush=True,
                )
