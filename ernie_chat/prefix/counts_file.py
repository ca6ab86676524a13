"""Counts across restarts: one JSON file that only its owner can read."""

from __future__ import annotations

import logging
import os
import secrets
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from ernie_chat.prefix.counts import Entry

log = logging.getLogger(__name__)

KEY_BYTES = 32


class CountsFile(BaseModel):
    """What is in the file. `key` is hexadecimal."""

    version: Literal[1] = 1
    key: str
    entries: list[Entry]


def read(path: Path) -> CountsFile:
    """The file's content. One that is missing or can't be used counts as empty."""
    try:
        content = CountsFile.model_validate_json(path.read_bytes())
        if len(bytes.fromhex(content.key)) != KEY_BYTES:
            raise ValueError("its key has another length")
        return content
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        # A validation error quotes what it read, and prompts don't belong into a log.
        why = f"{error.error_count()} errors" if isinstance(error, ValidationError) else error
        log.warning("%s can't be used, so learning starts anew (%s)", path.name, why)
    return CountsFile(key=secrets.token_hex(KEY_BYTES), entries=[])


def write(path: Path, content: CountsFile) -> None:
    """Whole or not at all. A file that can't be written is only logged."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content.model_dump_json())
        part.replace(path)
    except OSError as error:
        log.warning("what was learned can't be written to %s (%s)", path, error.strerror)
