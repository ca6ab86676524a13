"""What is kept outlives the modules that put it there."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator

import pytest

import ernie_chat.engine
from ernie_chat.engine import keep
from ernie_chat.engine.status import Status
from ernie_chat.errors import ModelCorrupt


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test starts without, and what an engine test keeps is put back."""
    monkeypatch.delitem(sys.modules, keep.NAME, raising=False)
    yield
    sys.modules.pop(keep.NAME, None)


def test_a_status_survives_as_plain_data() -> None:
    status = Status(state="failed", error=ModelCorrupt("why", model="m", file="f"))
    plain = status.as_plain()
    again = Status.from_plain(plain, restart_needed=True)
    assert again.error is not None
    assert again.error is not status.error
    assert again.error.sentence("en") == status.error.sentence("en")  # type: ignore[union-attr]
    assert (again.state, again.since, again.restart_needed) == ("failed", status.since, True)


async def test_code_loaded_anew_finds_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chainlit's reload drops every module that has a file under the app's folder."""
    llm = object()
    keep.kept().llm = llm
    keep.publish(Status(state="ready"))
    with monkeypatch.context() as dropped:
        for name in ("ernie_chat.engine.keep", "ernie_chat.engine.status"):
            dropped.delitem(sys.modules, name)
        anew = importlib.import_module("ernie_chat.engine.keep")
        assert anew is not keep
        assert anew.kept().llm is llm
        assert anew.kept().status["state"] == "ready"
        assert getattr(sys.modules[keep.NAME], "__file__", None) is None
    vars(ernie_chat.engine).update(keep=keep, status=sys.modules["ernie_chat.engine.status"])


async def test_a_change_wakes_who_waits() -> None:
    changed = keep.kept().changed
    waiting = asyncio.create_task(changed.wait())
    keep.publish(Status(state="loading"))
    assert await waiting
    assert not keep.kept().changed.is_set()


async def test_stopped_is_final() -> None:
    keep.publish(Status(state="stopped"))
    keep.publish(Status(state="ready"))
    assert keep.kept().status["state"] == "stopped"
