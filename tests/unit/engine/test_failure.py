"""What others say when a start fails, and what a person is told then."""

from __future__ import annotations

import pytest

from ernie_chat.engine.failure import explain
from ernie_chat.errors import EngineStartFailed, ModelCorrupt, ModelUnsupported, NotEnoughMemory

SAID = [
    ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 20.00 MiB.", NotEnoughMemory),
    (
        "RuntimeError",
        "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory",
        NotEnoughMemory,
    ),
    (
        "ValueError",
        "Free memory on device cuda:0 (1.2/15.6 GiB) on startup is less than desired",
        NotEnoughMemory,
    ),
    (
        "RuntimeError",
        "Engine core initialization failed. Failed core proc(s): {'EngineCore': -9}",
        NotEnoughMemory,
    ),
    ("SafetensorError", "Error while deserializing header: header too large", ModelCorrupt),
    ("ValueError", "Following weights were not initialized from checkpoint: {'a'}", ModelCorrupt),
    (
        "ValidationError",
        "Model architectures ['FooForCausalLM'] are not supported for now.",
        ModelUnsupported,
    ),
    (
        "RuntimeError",
        "Engine core initialization failed. Failed core proc(s): {'EngineCore': 1}",
        EngineStartFailed,
    ),
    ("KeyError", "'unheard of'", EngineStartFailed),
]


@pytest.mark.parametrize(("kind", "message", "error"), SAID)
def test_what_a_person_is_told(kind: str, message: str, error: type[Exception]) -> None:
    explained = explain(model="some model", kind=kind, message=message)
    assert type(explained) is error
    assert explained.detail == f"{kind}: {message}"
    assert "?" not in explained.sentence("en")


def test_the_damaged_file_is_named() -> None:
    message = "Error while deserializing /models/x/model-00002-of-00003.safetensors: bad header"
    explained = explain(model="x", kind="SafetensorError", message=message)
    assert explained.fields["file"] == "model-00002-of-00003.safetensors"


def test_an_unknown_error_while_weights_are_read_means_damage() -> None:
    trace = 'File "weight_utils.py", line 1, in safetensors_weights_iterator'
    told = explain(model="x", kind="OverflowError", message="cannot fit", trace=trace)
    assert type(told) is ModelCorrupt
    elsewhere = explain(model="x", kind="OverflowError", message="cannot fit", trace="clock.py")
    assert type(elsewhere) is EngineStartFailed


def test_the_reason_is_one_short_sentence() -> None:
    message = "Model architectures ['Foo'] are not supported for now. Supported: " + "x, " * 900
    explained = explain(model="x", kind="ValueError", message=message)
    assert explained.fields["reason"] == "Model architectures ['Foo'] are not supported for now"
    assert len(explained.detail) <= 1000
