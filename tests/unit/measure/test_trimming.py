"""The counted trade-off of trimming."""

from __future__ import annotations

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.config.settings import Settings
from ernie_chat.measure.trimming import Outcome, simulate


def outcome(tokenizer: Tokenizer, share: float, *, context_length: int = 2048) -> Outcome:
    return simulate(
        tokenizer,
        Settings(max_tokens=512),
        context_length=context_length,
        turns=40,
        share=share,
        block_size=32,
        chats=2,
    )


def test_more_is_cached_and_less_remembered(tokenizer: Tokenizer) -> None:
    naive, ours = outcome(tokenizer, 1.0), outcome(tokenizer, 0.6)
    assert naive.cached + 0.2 < ours.cached
    assert naive.slow > 1.5 * ours.slow
    assert 0.7 * naive.remembered < ours.remembered < naive.remembered
    for found in (naive, ours):
        assert found.cached < found.cached_early <= 1
        assert found.slow_early < found.slow


def test_a_chat_that_fits_is_cached_but_for_its_messages(tokenizer: Tokenizer) -> None:
    found = outcome(tokenizer, 0.6, context_length=100_000)
    assert found.remembered == 0
    assert 0.95 < found.cached <= found.cached_early < found.cached + 0.01
    assert found == outcome(tokenizer, 0.6, context_length=100_000)
