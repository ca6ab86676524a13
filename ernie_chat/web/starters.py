"""The prompts offered on an empty page. The same ones are hot prompts later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ernie_chat.errors import Language
from ernie_chat.web.texts import language_of

if TYPE_CHECKING:
    import chainlit as cl

STARTERS: dict[Language, list[tuple[str, str]]] = {
    "en": [
        ("Who are you?", "Who are you?"),
        ("Explain a prefix cache", "Explain in simple words what a prefix cache is."),
        ("Write a short poem", "Write a four-line poem about the first snow."),
        ("Plan a weekend", "Plan a quiet weekend in the mountains for two."),
    ],
    "zh": [
        ("你是谁？", "你是谁？"),
        ("解释前缀缓存", "用简单的话解释什么是前缀缓存。"),
        ("写一首五言诗", "写一首关于初雪的五言诗。"),
        ("周末计划", "为两个人安排一个安静的山间周末。"),
    ],
}


async def starters(user: object, language: str | None) -> list[cl.Starter]:
    """Chainlit's starters for a browser's language."""
    import chainlit as cl

    return [
        cl.Starter(label=label, message=message)
        for label, message in STARTERS[language_of(language)]
    ]
