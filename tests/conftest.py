"""Fixtures that every kind of test shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from ernie_chat.chat.tokenizer import Tokenizer
from ernie_chat.config.settings import load_settings


@pytest.fixture(scope="session")
def embedded_folder() -> Path:
    """The embedded model's checkpoint, where the product itself keeps it."""
    from ernie_chat.model.embedded import write_embedded

    return write_embedded(load_settings().cache_dir)


@pytest.fixture(scope="session")
def tokenizer(embedded_folder: Path) -> Tokenizer:
    """The embedded model's tokenizer."""
    from ernie_chat.model.tokenizer import load_tokenizer

    return load_tokenizer(embedded_folder)
