"""A model folder's JSON files, read as objects. Knows nothing of what they mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ernie_chat.errors import ModelCorrupt


def read_object(file: Path, name: str) -> dict[str, Any]:
    """The file's object. Raises ModelCorrupt, with `name` as the model, for anything else."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelCorrupt(str(error), model=name, file=file.name) from error
    if not isinstance(content, dict):
        raise ModelCorrupt("not a JSON object", model=name, file=file.name)
    return content
