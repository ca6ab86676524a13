"""The settings panel of a chat: its widgets, and what comes back from them, checked.

A value of the wrong type or out of range is brought back into range, never an error: the panel
can't produce one, only a hand-made socket event can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ernie_chat.config.settings import Settings
from ernie_chat.errors import Language
from ernie_chat.model.source import Generation
from ernie_chat.web.texts import text

if TYPE_CHECKING:
    import chainlit as cl

RANGES: dict[str, tuple[float, float, float]] = {
    "temperature": (0.0, 2.0, 0.05),
    "top_p": (0.05, 1.0, 0.05),
    "repetition_penalty": (1.0, 1.5, 0.01),
    "max_tokens": (16, 4096, 16),
}
"""Lowest, highest, step."""

SYSTEM_PROMPT_CHARS = 100_000
"""A longer one is cut before it is tokenised; the session refuses far shorter ones."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What this chat is set to."""

    system_prompt: str
    temperature: float
    top_p: float
    repetition_penalty: float
    max_tokens: int

    @classmethod
    def defaults(cls, settings: Settings, generation: Generation) -> Choices:
        """The model's own sampling defaults where it has them; vLLM's neutral ones elsewhere."""
        return cls(
            system_prompt=settings.system_prompt,
            temperature=1.0 if generation.temperature is None else generation.temperature,
            top_p=1.0 if generation.top_p is None else generation.top_p,
            repetition_penalty=(
                1.0 if generation.repetition_penalty is None else generation.repetition_penalty
            ),
            max_tokens=settings.max_tokens,
        )

    def changed(self, values: Mapping[str, object]) -> Choices:
        """These choices with the panel's `values`; what is missing or no number stays."""

        def number(name: str) -> float:
            return _number(values.get(name), name, getattr(self, name))

        prompt = values.get("system_prompt", self.system_prompt)
        if not isinstance(prompt, str):
            prompt = "" if prompt is None else self.system_prompt
        return Choices(
            system_prompt=prompt[:SYSTEM_PROMPT_CHARS],
            temperature=number("temperature"),
            top_p=number("top_p"),
            repetition_penalty=number("repetition_penalty"),
            max_tokens=int(number("max_tokens")),
        )


def _number(value: object, name: str, otherwise: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return otherwise
    low, high, _ = RANGES[name]
    return min(max(float(value), low), high)


def widgets(choices: Choices, language: Language, context_length: int) -> cl.ChatSettings:
    """Chainlit's panel showing `choices`. Answers may take up to half the context."""
    import chainlit as cl
    from chainlit.input_widget import Slider, TextInput

    def slider(name: str, initial: float) -> Slider:
        low, high, step = RANGES[name]
        if name == "max_tokens":
            high = max(low, min(high, context_length // 2))
        return Slider(
            id=name,
            label=text(name, language),
            description=text(f"{name}_help", language),
            initial=min(initial, high),
            min=low,
            max=high,
            step=step,
        )

    return cl.ChatSettings(
        [
            TextInput(
                id="system_prompt",
                label=text("system_prompt", language),
                description=text("system_prompt_help", language),
                initial=choices.system_prompt,
                multiline=True,
            ),
            slider("temperature", choices.temperature),
            slider("top_p", choices.top_p),
            slider("repetition_penalty", choices.repetition_penalty),
            slider("max_tokens", choices.max_tokens),
        ]
    )
