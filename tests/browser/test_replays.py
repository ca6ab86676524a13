"""The scripted chats in `tests/replays`, against the app as its user starts it."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest

from ernie_chat.measure.replay import replay
from ernie_chat.measure.replay_command import lines
from ernie_chat.measure.script_file import load_script
from tests.support.app import AppProcess

FOLDER = Path(__file__).parents[1] / "replays"
NAMES = sorted(path.name.removesuffix(".replay.yaml") for path in FOLDER.glob("*.replay.yaml"))


@pytest.mark.parametrize("name", NAMES)
async def test_replay(name: str, app: AppProcess) -> None:
    told: list[str] = []
    well, turns = True, 0
    file = load_script(FOLDER / f"{name}.replay.yaml")
    async with aclosing(replay(file.script, url=app.url)) as results:
        async for result in results:
            told += lines(result, f"{name}:{file.lines[result.number - 1]}")
            well &= result.ok
            turns += 1
    assert well, "\n".join(told)
    assert turns == len(file.script.turns)
