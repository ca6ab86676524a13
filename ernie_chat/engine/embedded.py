"""The engine inside this process: vLLM's AsyncLLM behind the `Engine` protocol.

Adapts and translates; owns no start (`start`) and no state (`keep`), so that new code after a
reload can put a fresh adapter around the engine that runs.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from ernie_chat.engine import salts
from ernie_chat.engine.detokenizer import Codec, Detokenizer
from ernie_chat.engine.interface import Delta, Finish, Request, Sampling
from ernie_chat.errors import EngineDied

_FINISHES: dict[str, Finish] = {"length": "length", "abort": "abort"}


class EmbeddedEngine:
    """Implements `Engine` with an AsyncLLM."""

    def __init__(self, llm: Any, codec: Codec) -> None:
        self._llm = llm
        self._codec = codec

    @property
    def context_length(self) -> int:
        return cast(int, self._llm.model_config.max_model_len)

    @property
    def block_size(self) -> int:
        return cast(int, self._llm.vllm_config.cache_config.block_size)

    @property
    def cache_tokens(self) -> int:
        blocks = cast(int, self._llm.vllm_config.cache_config.num_gpu_blocks)
        return blocks * self.block_size

    @property
    def evicted_blocks(self) -> int:
        """From vLLM's statistics of watched blocks, which also count blocks that were given to
        another prompt while half full."""
        from prometheus_client import REGISTRY

        name = "vllm:kv_block_lifetime_seconds_count"
        families = REGISTRY.restricted_registry([name]).collect()
        watched = sum(s.value for family in families for s in family.samples if s.name == name)
        share: float = self._llm.vllm_config.observability_config.kv_cache_metrics_sample
        return round(watched / share)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        self._check_fits(request)
        text = Detokenizer(self._codec)
        prompt: dict[str, Any] = {"prompt_token_ids": list(request.prompt_ids)}
        if salt := salts.encoded(request.cache_salt, request.shared_tokens):
            prompt["cache_salt"] = salt
        outputs = self._llm.generate(
            prompt, _sampling_params(request.sampling), request.id, priority=request.priority
        )
        first = True
        try:
            async with aclosing(outputs):
                async for output in outputs:
                    yield _delta(request, output, text, first=first)
                    first = False
        except Exception as error:
            raise self._translated(error) from error

    async def check(self) -> None:
        if self._llm.errored:
            raise EngineDied("the engine's process is gone")

    def shutdown(self) -> None:
        self._llm.shutdown()

    def _check_fits(self, request: Request) -> None:
        """ValueError for a request that breaks the interface: a mistake of the caller. Without
        a tokenizer of its own vLLM looks up any id, and an id past the last row kills it."""
        ids, answer = request.prompt_ids, request.sampling.max_tokens
        rows = self._llm.model_config.get_vocab_size()
        if not ids or min(ids) < 0 or max(ids) >= rows:
            raise ValueError(f"the prompt is empty or has ids outside 0..{rows - 1}")
        if len(ids) + answer > self.context_length:
            raise ValueError(f"{len(ids)} + {answer} tokens don't fit {self.context_length}")

    def _translated(self, error: Exception) -> Exception:
        said = f"{type(error).__name__}: {error.__cause__ or error}"
        return EngineDied(said) if self._llm.errored else RuntimeError(said)


def _sampling_params(sampling: Sampling) -> Any:
    """Raises ValueError for values that no sampler takes."""
    from vllm.sampling_params import RequestOutputKind, SamplingParams

    make = functools.partial(
        SamplingParams,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        repetition_penalty=sampling.repetition_penalty,
        max_tokens=sampling.max_tokens,
        stop_token_ids=list(sampling.stop_token_ids),
        ignore_eos=True,  # what ends an answer is said above, in full
        seed=sampling.seed,
        detokenize=False,
        output_kind=RequestOutputKind.DELTA,
    )
    try:
        return make()
    except Exception as error:  # of vLLM's own kinds, which differ between its versions
        raise ValueError(str(error)) from error


def _delta(request: Request, output: Any, text: Detokenizer, *, first: bool) -> Delta:
    completion = output.outputs[0]
    ids = tuple(completion.token_ids)
    finish: Finish | None = None
    if output.finished:
        finish = _FINISHES.get(completion.finish_reason, "stop")
    spoken = ids
    if finish == "stop" and ids and ids[-1] in request.sampling.stop_token_ids:
        spoken = ids[:-1]
    new = text.push(spoken)
    if finish is not None:
        new += text.flush()
    return Delta(
        text=new,
        token_ids=ids,
        finish=finish,
        prompt_tokens=len(request.prompt_ids),
        cached_tokens=output.num_cached_tokens or 0,
        prefill_s=_prefill_s(output.metrics) if first else None,
    )


def _prefill_s(times: Any) -> float | None:
    """From vLLM's clock readings of a request."""
    return times.first_token_ts - times.scheduled_ts if times else None
