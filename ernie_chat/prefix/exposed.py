"""The prefix cache's numbers for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ernie_chat.engine.interface import Engine
from ernie_chat.prefix.metrics import COUNTERS, PrefixMetrics

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

PREFIX = "ernie_chat_prefix_"
GAUGES = {
    "hit_rate_tokens": "Cached share of all prompt tokens.",
    "hit_rate_requests": "Share of answers whose prompt was found, at least its first block.",
    "saved_prefill_s": "Estimated seconds of prefill that users did not wait for.",
}


class _Collector:
    def __init__(self, metrics: PrefixMetrics, engine: Engine) -> None:
        self._metrics = metrics
        self._engine = engine

    def describe(self) -> Iterable[Metric]:
        """Without this the registry would collect to learn the names, with its lock held, and
        `evicted_blocks` reads the same registry."""
        return self._families(dict.fromkeys((*COUNTERS, *GAUGES), 0), evicted=0)

    def collect(self) -> Iterable[Metric]:
        return self._families(self._metrics.snapshot(), evicted=self._engine.evicted_blocks)

    def _families(self, now: Mapping[str, float | None], *, evicted: int) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name, meaning in COUNTERS.items():
            yield CounterMetricFamily(PREFIX + name, meaning, value=now[name])
        yield CounterMetricFamily(
            PREFIX + "evicted_blocks",
            "KV blocks whose content was given up for another prompt's.",
            value=evicted,
        )
        for name, meaning in GAUGES.items():
            if (value := now[name]) is not None:
                yield GaugeMetricFamily(PREFIX + name, meaning, value=value)


def expose(
    metrics: PrefixMetrics, engine: Engine, registry: CollectorRegistry, *, instead_of: Any = None
) -> Any:
    """Returns what is to be given as `instead_of` the next time, also by code of a reload."""
    if instead_of is not None:
        registry.unregister(instead_of)
    collector = _Collector(metrics, engine)
    registry.register(collector)
    return collector
