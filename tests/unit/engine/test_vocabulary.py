"""Which ids spell nothing."""

from __future__ import annotations

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.engine.vocabulary import FIRST_TOKENLESS, first_tokenless, vocabulary_arguments

ROWS = 49_152


def test_every_row_of_the_embedded_model_has_a_token(tokenizer: Tokenizer) -> None:
    assert first_tokenless(tokenizer, ROWS) == ROWS
    assert vocabulary_arguments(tokenizer, ROWS) == {}


def test_rows_past_the_last_token_are_found(tokenizer: Tokenizer) -> None:
    assert first_tokenless(tokenizer, ROWS + 2_120) == ROWS
    arguments = vocabulary_arguments(tokenizer, ROWS + 2_120)
    assert arguments["additional_config"] == {FIRST_TOKENLESS: ROWS}


def test_control_tokens_at_the_end_are_kept() -> None:
    class Codec:
        control_ids = frozenset({7})

        def encode(self, text: str) -> list[int]:
            return [0]

        def decode(self, ids: object) -> str:
            return "a"

    assert first_tokenless(Codec(), 10) == 8
