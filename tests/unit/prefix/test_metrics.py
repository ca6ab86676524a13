"""What the prefix cache does, in numbers."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Gauge

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.prefix.exposed import expose
from ernie_chat.prefix.metrics import COUNTERS, PrefixMetrics
from tests.support.engine import FakeEngine


def test_rates() -> None:
    metrics = PrefixMetrics({})
    assert metrics.hit_rate_tokens is None
    assert metrics.hit_rate_requests is None
    for cached in (0, 32, 64):
        metrics.answered(prompt_tokens=100, cached_tokens=cached, prefill_s=None)
    assert metrics.hit_rate_tokens == pytest.approx(96 / 300)
    assert metrics.hit_rate_requests == pytest.approx(2 / 3)


def test_saved_prefill_is_what_a_token_costs_without_what_every_request_costs() -> None:
    metrics = PrefixMetrics({})
    for computed in (10, 50, 100, 200, 10, 50, 100, 200):
        assert metrics.saved_prefill_s == 0
        metrics.answered(
            prompt_tokens=computed + 30, cached_tokens=30, prefill_s=0.5 + computed * 0.002
        )
    assert metrics.prefill_s_per_token == pytest.approx(0.002)
    assert metrics.saved_prefill_s == pytest.approx(8 * 30 * 0.002)


def test_no_line_through_one_length() -> None:
    metrics = PrefixMetrics({})
    for _ in range(20):
        metrics.answered(prompt_tokens=50, cached_tokens=0, prefill_s=0.1)
    assert metrics.prefill_s_per_token == 0


def test_numbers_outlive_a_reload() -> None:
    numbers: dict[str, float] = {}
    PrefixMetrics(numbers).answered(prompt_tokens=9, cached_tokens=3, prefill_s=0.1)
    again = PrefixMetrics(numbers)
    assert (again["requests"], again["cached_tokens"]) == (1, 3)


def test_the_engine_may_read_the_registry_too(tokenizer: Tokenizer) -> None:
    registry = CollectorRegistry()
    Gauge("other", "Of somebody else.", registry=registry)

    class Reads(FakeEngine):
        @property
        def evicted_blocks(self) -> int:
            return sum(1 for _ in registry.restricted_registry(["other"]).collect())

    expose(PrefixMetrics({}), Reads(tokenizer), registry)
    assert registry.get_sample_value("ernie_chat_prefix_evicted_blocks_total") == 1


def test_exposed_once_however_often_the_app_is_reloaded(tokenizer: Tokenizer) -> None:
    engine = FakeEngine(tokenizer)
    registry = CollectorRegistry()
    earlier = None
    for _ in range(2):
        metrics = PrefixMetrics({})
        earlier = expose(metrics, engine, registry, instead_of=earlier)
    metrics.answered(prompt_tokens=8, cached_tokens=4, prefill_s=None)
    assert registry.get_sample_value("ernie_chat_prefix_cached_tokens_total") == 4
    assert registry.get_sample_value("ernie_chat_prefix_hit_rate_tokens") == 0.5
    assert registry.get_sample_value("ernie_chat_prefix_evicted_blocks_total") == 0
    for name in COUNTERS:
        assert registry.get_sample_value(f"ernie_chat_prefix_{name}_total") is not None
