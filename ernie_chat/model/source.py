"""What a located model is. `locate` finds one; this file only names the parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Source = Literal["folder", "cache", "huggingface", "modelscope", "embedded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Sampling defaults of the model's own generation_config; None where it says nothing."""

    temperature: float | None = None
    top_p: float | None = None
    repetition_penalty: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A complete, checked model on this disk."""

    folder: Path
    name: str
    """What to call it in the page: a hub name, a folder's name, or "SmolLM2-135M-Instruct"."""
    wanted: str
    """What the settings asked for. Differs from `name` when the embedded model stands in."""
    source: Source
    generation: Generation
    stop_token_ids: tuple[int, ...]
    """End-of-turn and end-of-text ids, from generation_config and tokenizer."""
    context_length: int
    """Longest context the model's config allows, tokens."""

    @property
    def stands_in(self) -> bool:
        """True when this is not the model that was asked for."""
        return self.name != self.wanted and self.source == "embedded" and self.wanted != "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a download stands. `total` is 0 while it is unknown."""

    hub: str
    done: int
    total: int


OnProgress = Callable[[Progress], None]
