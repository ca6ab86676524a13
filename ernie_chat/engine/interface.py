"""What an engine is to the rest of the product: token ids in, deltas out.

Knows nothing of vLLM, chats or browsers. `embedded` has the real one, `tests.support.engine` one
that says what it is told, for tests of other rooms.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Finish = Literal["stop", "length", "abort"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are chosen. `temperature` 0 is greedy."""

    temperature: float = 0.8
    top_p: float = 0.8
    repetition_penalty: float = 1.0
    max_tokens: int = 1024
    stop_token_ids: tuple[int, ...] = ()
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One answer to make. `len(prompt_ids) + sampling.max_tokens` fits the context."""

    id: str
    prompt_ids: Sequence[int]
    sampling: Sampling
    priority: int = 0
    """Of two requests that wait, the lower number goes first, and may take a higher one's place."""
    cache_salt: str = ""
    """Names who may find this prompt's KV blocks in the prefix cache: requests with the same
    salt. Without one, everybody without one."""
    shared_tokens: int = 0
    """So many tokens at the prompt's beginning are nobody's secret: KV blocks that lie within
    them are found whatever the salt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What is new since the last delta: whole characters of text, and the ids made.

    `finish` is None until the last delta. `cached_tokens` of the prompt's `prompt_tokens` were
    found in the prefix cache. `token_ids` holds every id generated, a stop token included.
    """

    text: str
    token_ids: tuple[int, ...]
    finish: Finish | None
    prompt_tokens: int
    cached_tokens: int
    prefill_s: float | None = None
    """On the first delta: seconds from leaving the engine's queue to the first token."""


class Engine(Protocol):
    """One running engine."""

    @property
    def context_length(self) -> int:
        """Tokens of prompt and answer together."""

    @property
    def block_size(self) -> int:
        """Tokens in a KV block: what the prefix cache finds is a multiple of it."""

    @property
    def cache_tokens(self) -> int:
        """Tokens the KV cache holds, of running requests and of prefixes kept for later."""

    @property
    def evicted_blocks(self) -> int:
        """KV blocks so far whose content was given up for another prompt's; on a GPU, where not
        every block is watched, an estimate."""

    def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The answer as it is made. Closing or cancelling the generator aborts the request in
        the engine at once. Raises EngineDied when the engine is lost on the way, ValueError for
        a request that breaks the interface (it doesn't fit, an id without an embedding)."""

    async def check(self) -> None:
        """Returns when the engine is alive; raises EngineDied otherwise."""

    def shutdown(self) -> None:
        """Ends the engine's processes; blocks until they are gone. Idempotent."""
