"""Engines and requests for tests."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.engine.detokenizer import Codec, Detokenizer
from ernie_chat.engine.interface import Delta, Engine, Request, Sampling
from ernie_chat.errors import EngineDied

_numbers = itertools.count()


class FakeEngine:
    """An `Engine` that says what it was told to, one token a delta, for tests whose subject is
    not the engine.

    `answers` are given in turn, the last one for ever. `tokens_until_silence` makes it go silent
    after so many tokens, until it is aborted; `tokens_until_death` makes it die.
    """

    def __init__(
        self,
        codec: Codec,
        answers: Sequence[str] = ("Hello.",),
        *,
        context_length: int = 4096,
        block_size: int = 16,
        cache_tokens: int = 65_536,
        tokens_until_silence: int | None = None,
        tokens_until_death: int | None = None,
    ) -> None:
        self._codec = codec
        self._answers = list(answers)
        self._context_length = context_length
        self._block_size = block_size
        self._cache_tokens = cache_tokens
        self._silence = tokens_until_silence
        self._death = tokens_until_death
        self.requests: list[Request] = []
        """What it was asked, oldest first."""
        self.aborted: list[str] = []
        """Ids of requests that were closed before their end."""
        self.running = 0
        self.stopped = False

    @property
    def context_length(self) -> int:
        return self._context_length

    @property
    def block_size(self) -> int:
        return self._block_size

    @property
    def cache_tokens(self) -> int:
        return self._cache_tokens

    @property
    def evicted_blocks(self) -> int:
        return 0

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        ids = self._codec.encode(answer)[: request.sampling.max_tokens]
        stop = request.sampling.stop_token_ids[:1]
        if len(ids) < request.sampling.max_tokens:
            ids += stop
        text = Detokenizer(self._codec)
        ended = False
        self.running += 1
        try:
            for made, token in enumerate(ids):
                if made == self._silence:
                    await asyncio.Event().wait()
                if made == self._death:
                    ended = True
                    raise EngineDied("told to die")
                last = made + 1 == len(ids)
                spoken = text.push([] if token in stop else [token])
                if last:
                    ended = True
                    spoken += text.flush()
                yield Delta(
                    text=spoken,
                    token_ids=(token,),
                    finish=("stop" if token in stop else "length") if last else None,
                    prompt_tokens=len(request.prompt_ids),
                    cached_tokens=0,
                    prefill_s=0.0 if made == 0 else None,
                )
                await asyncio.sleep(0)
        finally:
            self.running -= 1
            if not ended:
                self.aborted.append(request.id)

    async def check(self) -> None:
        if self._death is not None:
            raise EngineDied("told to die")

    def shutdown(self) -> None:
        self.stopped = True


def ask(
    tokenizer: Tokenizer,
    text: str,
    *,
    max_tokens: int = 32,
    temperature: float = 0.0,
    stop_token_ids: Sequence[int] = (),
) -> Request:
    """A request with the model's own chat template around `text`."""
    prompt = tokenizer.render([{"role": "user", "content": text}], add_generation_prompt=True)
    return request(
        encode_rendered(tokenizer, prompt),
        max_tokens=max_tokens,
        temperature=temperature,
        stop_token_ids=stop_token_ids,
    )


def encode_rendered(tokenizer: Tokenizer, prompt: str) -> list[int]:
    """Ids of a rendered template; the text in between must hold no control token."""
    ids: list[int] = []
    while prompt:
        found = min(
            ((at, token) for token in tokenizer.control_tokens if (at := prompt.find(token)) >= 0),
            default=(len(prompt), ""),
        )
        at, token = found
        ids += tokenizer.encode(prompt[:at])
        ids += [tokenizer.control_id(token)] if token else []
        prompt = prompt[at + len(token) :]
    return ids


def request(
    prompt_ids: Sequence[int],
    *,
    max_tokens: int = 32,
    temperature: float = 0.0,
    stop_token_ids: Sequence[int] = (),
) -> Request:
    """A request with an id of its own."""
    return Request(
        id=f"test-{next(_numbers)}",
        prompt_ids=prompt_ids,
        sampling=Sampling(
            temperature=temperature,
            top_p=1.0,
            max_tokens=max_tokens,
            stop_token_ids=tuple(stop_token_ids),
        ),
    )


async def collect(engine: Engine, request: Request) -> list[Delta]:
    """Every delta of the answer."""
    return [delta async for delta in engine.stream(request)]


def joined(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas)
