"""What tests about models share."""

from __future__ import annotations

import pytest

from tests.support.small_model import write_small_model


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = write_small_model(tmp_path_factory.mktemp("small"))
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
