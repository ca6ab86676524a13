"""The numbers under an answer are those of its deltas."""

from __future__ import annotations

from ernie_chat.engine.interface import Delta, Finish
from ernie_chat.web.stats import Stats


def delta(ids: int, finish: Finish | None = None) -> Delta:
    return Delta(
        text="x" * ids, token_ids=(7,) * ids, finish=finish, prompt_tokens=312, cached_tokens=256
    )


def finished(*, began: float = 10.0, first: float = 10.25, last: float = 11.25) -> Stats:
    """Eleven tokens, the first alone, with times as if a clock had shown them."""
    stats = Stats(request="r1", began=began)
    stats.add(delta(1))
    stats.add(delta(4))
    stats.add(delta(6, "stop"))
    stats.first, stats.last = first, last
    return stats


def test_counts_and_times() -> None:
    stats = finished()
    assert (stats.answer_tokens, stats.prompt_tokens, stats.cached_tokens) == (11, 312, 256)
    assert stats.ttft_s == 0.25
    assert stats.tokens_per_s == 10.0
    assert stats.end == "stop"


def test_tokens_of_the_first_delta_do_not_count_as_speed() -> None:
    stats = Stats(request="r", began=0.0)
    stats.add(delta(8))
    stats.add(delta(2, "length"))
    stats.first, stats.last = 1.0, 2.0
    assert stats.tokens_per_s == 2.0
    assert stats.end == "length"


def test_a_short_answer_has_no_speed() -> None:
    stats = Stats(request="r")
    stats.add(delta(1, "stop"))
    assert stats.tokens_per_s is None
    assert stats.metadata()["tokens_per_s"] is None


def test_nothing_came() -> None:
    stats = Stats(request="r")
    assert stats.ttft_s is None
    assert stats.line("en") == ["interrupted"]


def test_line_in_both_languages() -> None:
    stats = finished()
    stats.dropped_tokens, stats.left_out_tokens = 1000, 234
    assert stats.line("en") == [
        "0.25 s to first token", "10 tokens/s", "312 prompt tokens", "256 cached", "1,234 dropped",
    ]  # fmt: skip
    assert stats.line("zh") == [
        "首字 0.25 秒", "10 token/秒", "提示 312 token", "缓存 256", "舍去 1,234",
    ]  # fmt: skip


def test_a_stopped_answer_says_so_first() -> None:
    stats = finished()
    stats.end = "stopped"
    assert stats.line("zh")[0] == "已停止"
    assert stats.metadata()["finish"] == "stopped"
