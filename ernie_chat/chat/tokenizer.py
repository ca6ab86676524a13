"""What the chat room needs of a tokenizer. `ernie_chat.model.tokenizer` makes real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypedDict

Role = Literal["system", "user", "assistant"]


class TemplateMessage(TypedDict):
    role: Role
    content: str


class Tokenizer(Protocol):
    """A model's tokenizer with its chat template. Safe to call from several threads."""

    control_ids: frozenset[int]
    """Ids of control tokens: what a template may write and a user never can."""

    control_tokens: tuple[str, ...]
    """Their spellings, longest first."""

    def encode(self, text: str) -> list[int]:
        """Ids of `text` as plain text: a control token's spelling in it is just characters.
        Adds no token of its own."""

    def encode_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """`encode`, and for each id its (start, end) in characters of `text`. Several ids that
        spell one character share its offsets."""

    def control_id(self, token: str) -> int:
        """Id of the control token spelled `token`; KeyError if there is none."""

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids`, control tokens left out."""

    def render(self, messages: Sequence[TemplateMessage], *, add_generation_prompt: bool) -> str:
        """The model's own chat template over `messages`."""
