"""Ids that spell nothing: which they are. `tokenless` keeps them from being sampled.

A checkpoint may have more embedding rows than its tokenizer has tokens (ERNIE-4.5-0.3B: 103,424
rows, ids up to 101,303). The rows in excess take part in sampling like any other. Masking them in
a request (`allowed_token_ids`) would send a hundred thousand ids each time; a logits processor of
the engine's own does it with one fill per step. It is asked for only where it is needed: vLLM's
faster model runner for GPUs doesn't take custom processors.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from ernie_chat.engine.detokenizer import Codec

FIRST_TOKENLESS = "ernie_chat_first_tokenless"
"""Key in vLLM's `additional_config`: the lowest id from which on no id spells anything."""


class Vocabulary(Codec, Protocol):
    """The part of a tokenizer that is needed here."""

    @property
    def control_ids(self) -> Collection[int]: ...


def first_tokenless(vocabulary: Vocabulary, rows: int) -> int:
    """The lowest id of the tail that spells nothing; `rows` when every row has a token."""
    anchor = vocabulary.encode("a")  # some decoders strip a space that stands alone
    nothing = vocabulary.decode(anchor)
    first = rows
    while (
        first > 0
        and first - 1 not in vocabulary.control_ids
        and vocabulary.decode([*anchor, first - 1]) == nothing
    ):
        first -= 1
    return first


def vocabulary_arguments(vocabulary: Vocabulary, rows: int) -> dict[str, Any]:
    """Engine arguments that keep ids without a token from being sampled; none if there are none."""
    first = first_tokenless(vocabulary, rows)
    if first == rows:
        return {}
    return {
        "logits_processors": ["ernie_chat.engine.tokenless:TokenlessMask"],
        "additional_config": {FIRST_TOKENLESS: first},
    }
