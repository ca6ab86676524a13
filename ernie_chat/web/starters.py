"""The prompts offered on an empty page: those of the hot prompts that are starters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ernie_chat.config.settings import settings
from ernie_chat.prefix import catalogue
from ernie_chat.web.texts import language_of

if TYPE_CHECKING:
    import chainlit as cl


async def starters(user: object, language: str | None) -> list[cl.Starter]:
    """Chainlit's starters for a browser's language."""
    import chainlit as cl

    spoken = language_of(language)
    return [
        cl.Starter(label=prompt.label[spoken], message=prompt.message[spoken])
        for prompt in catalogue.load_or_own(settings().hot_prompts)
        if prompt.starter
    ]
