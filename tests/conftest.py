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


@pytest.fixture(scope="session")
def ernie_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer built like ERNIE's, and no weights."""
    from tests.support.ernie_tokenizer import write_ernie_tokenizer

    return write_ernie_tokenizer(tmp_path_factory.mktemp("ernie") / "ERNIE-4.5-0.3B-PT")


@pytest.fixture(scope="session")
def ernie_tokenizer(ernie_folder: Path) -> Tokenizer:
    """That tokenizer: byte fallback and U+2581, where the embedded model's is byte-level."""
    from ernie_chat.model.tokenizer import load_tokenizer

    return load_tokenizer(ernie_folder)
