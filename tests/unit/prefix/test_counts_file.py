"""Counts across restarts."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from ernie_chat.prefix.counts import Entry
from ernie_chat.prefix.counts_file import CountsFile, read, write

CONTENT = CountsFile(
    key="ab" * 32,
    entries=[Entry("Hello.", whole=True, count=2.5, at=7.0, users=["aa"], endings=["bb"])],
)


def test_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "learned.json"
    write(path, CONTENT)
    write(path, CONTENT)
    assert read(path) == CONTENT
    assert [entry.name for entry in path.parent.iterdir()] == ["learned.json"]


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    write(path, CONTENT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_file_is_an_empty_one_with_a_new_key(tmp_path: Path) -> None:
    one, other = (read(tmp_path / "none.json") for _ in range(2))
    assert one.entries == []
    assert one.key != other.key


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b'{"version": 2, "key": "", "entries": []}',
        b'{"version": 1, "key": "", "entries": []}',
        b'{"version": 1, "key": "not hex", "entries": []}',
        b'{"version": 1, "key": "", "entries": [{"text": 1, "whole": "secret words"}]}',
    ],
)
def test_a_damaged_file_is_left_out(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "learned.json"
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert read(path).entries == []
    assert "learned.json" in caplog.text
    assert "secret" not in caplog.text


def test_what_cant_be_written_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    write(tmp_path / "file" / "learned.json", CONTENT)
    assert "can't be written" in caplog.text
