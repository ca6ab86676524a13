"""Scripts for tests, from text as it would stand in a file."""

from __future__ import annotations

import textwrap
from pathlib import Path

from ernie_chat.measure.script import Script
from ernie_chat.measure.script_file import ScriptError, parse_script

FILE = Path("chat.replay.yaml")


def script(text: str) -> Script:
    return parse_script(textwrap.dedent(text), FILE).script


def problems(text: str) -> list[str]:
    """What is wrong with a file of this text, without the file's name."""
    try:
        parse_script(textwrap.dedent(text), FILE)
    except ScriptError as error:
        return [str(problem).removeprefix(f"{FILE}:") for problem in error.problems]
    return []
