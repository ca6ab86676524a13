"""What comes back from the settings panel, honest or hand-made."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ernie_chat.config.settings import Settings
from ernie_chat.model.source import Generation
from ernie_chat.web.panel import RANGES, SYSTEM_PROMPT_CHARS, Choices

MODEL = Generation(temperature=0.8, top_p=0.8, repetition_penalty=1.0)
DEFAULTS = Choices.defaults(Settings(system_prompt="Be brief.", max_tokens=512), MODEL)


def test_the_models_own_defaults() -> None:
    assert (DEFAULTS.temperature, DEFAULTS.top_p, DEFAULTS.repetition_penalty) == (0.8, 0.8, 1.0)
    assert (DEFAULTS.system_prompt, DEFAULTS.max_tokens) == ("Be brief.", 512)


def test_a_model_without_defaults_gets_the_full_distribution() -> None:
    plain = Choices.defaults(Settings(), Generation())
    assert (plain.temperature, plain.top_p, plain.repetition_penalty) == (1.0, 1.0, 1.0)


def test_greedy_is_kept_as_zero() -> None:
    greedy = Choices.defaults(Settings(), Generation(temperature=0.0, top_p=1.0))
    assert greedy.temperature == 0.0


def test_values_are_taken() -> None:
    new = DEFAULTS.changed({"temperature": 0.3, "max_tokens": 64.0, "system_prompt": "你是诗人。"})
    assert (new.temperature, new.max_tokens, new.system_prompt) == (0.3, 64, "你是诗人。")
    assert new.top_p == DEFAULTS.top_p


@pytest.mark.parametrize("bad", ["hot", None, [], {}, True, math.nan, math.inf, "0.5"])
def test_what_is_no_number_changes_nothing(bad: object) -> None:
    assert DEFAULTS.changed(dict.fromkeys(RANGES, bad)) == DEFAULTS


def test_an_emptied_system_prompt_is_empty() -> None:
    assert DEFAULTS.changed({"system_prompt": None}).system_prompt == ""
    assert DEFAULTS.changed({"system_prompt": 7}).system_prompt == "Be brief."


@given(st.dictionaries(st.sampled_from([*RANGES, "system_prompt", "other"]), st.from_type(object)))
def test_whatever_comes_stays_in_range(values: dict[str, Any]) -> None:
    new = DEFAULTS.changed(values)
    for name, (low, high, _) in RANGES.items():
        assert low <= getattr(new, name) <= high
    assert len(new.system_prompt) <= SYSTEM_PROMPT_CHARS
