"""Loaded by vLLM, by name, in the engine's process: masks ids without a token. See `vocabulary`."""

from __future__ import annotations

from typing import Any

import torch
from vllm.v1.sample.logits_processor import LogitsProcessor

from ernie_chat.engine.vocabulary import FIRST_TOKENLESS


class TokenlessMask(LogitsProcessor):  # type: ignore[misc]
    """The same mask for every request."""

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        self._first: int = vllm_config.additional_config[FIRST_TOKENLESS]

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        logits[:, self._first :] = float("-inf")
        return logits

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: Any) -> None:
        """There is no state."""
