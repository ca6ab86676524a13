"""A real Chainlit process that answers by script, without a model."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.app import ROOT, AppProcess, start_app


@pytest.fixture(scope="session")
async def scripted(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AppProcess]:
    folder = tmp_path_factory.mktemp("scripted_app")  # Chainlit writes its defaults there
    target = ROOT / "tests/support/scripted_app.py"
    async with start_app(cwd=folder, target=target) as app:
        yield app
