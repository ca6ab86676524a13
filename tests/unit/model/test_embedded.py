"""The embedded model's folder: written once, whole or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ernie_chat.errors import ModelNotFound
from ernie_chat.model import embedded
from ernie_chat.model.embedded import write_embedded

WEIGHTS = "model.safetensors"


class Writer:
    """Stands in for the five seconds of conversion; the folder's handling is the subject."""

    def __init__(self) -> None:
        self.runs = 0
        self.fails = False

    def __call__(self, folder: Path) -> None:
        self.runs += 1
        (folder / WEIGHTS).write_bytes(b"weights")
        if self.fails:
            raise OSError("disk full")
        embedded._write_json(
            folder / embedded.MANIFEST, {WEIGHTS: embedded._sha256(folder / WEIGHTS)}
        )


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Writer:
    writer = Writer()
    monkeypatch.setattr(embedded, "_write", writer)
    return writer


def test_real_one_is_whole(embedded_folder: Path) -> None:
    assert embedded.is_whole(embedded_folder)
    assert "." not in embedded_folder.name
    config = json.loads((embedded_folder / "config.json").read_text())
    assert config["architectures"] == ["Ernie4_5ForCausalLM"]


def test_written_once(writer: Writer, tmp_path: Path) -> None:
    first = write_embedded(tmp_path / "new" / "cache")
    assert write_embedded(tmp_path / "new" / "cache") == first
    assert writer.runs == 1
    assert (first / WEIGHTS).read_bytes() == b"weights"


@pytest.mark.parametrize("damage", [b"", b"weightz", b"weights and more"])
def test_damaged_is_written_again(writer: Writer, tmp_path: Path, damage: bytes) -> None:
    folder = write_embedded(tmp_path)
    (folder / WEIGHTS).write_bytes(damage)
    assert (write_embedded(tmp_path) / WEIGHTS).read_bytes() == b"weights"
    assert writer.runs == 2


@pytest.mark.parametrize("manifest", ["", "{}", "[]", '{"gone": "0"}', "null"])
def test_damaged_manifest_is_no_manifest(writer: Writer, tmp_path: Path, manifest: str) -> None:
    folder = write_embedded(tmp_path)
    (folder / embedded.MANIFEST).write_text(manifest)
    assert not embedded.is_whole(folder)
    assert embedded.is_whole(write_embedded(tmp_path))


def test_failure_leaves_no_half_folder(writer: Writer, tmp_path: Path) -> None:
    writer.fails = True
    with pytest.raises(OSError, match="disk full"):
        write_embedded(tmp_path)
    assert [file.name for file in tmp_path.iterdir() if not file.name.startswith(".")] == [
        file.name for file in tmp_path.glob("*.lock")
    ]
    writer.fails = False
    folder = write_embedded(tmp_path)
    assert {file.name for file in tmp_path.iterdir() if file.is_dir()} == {folder.name}


def test_several_at_once(writer: Writer, tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def write(_: int) -> Path:
        together.wait()
        return write_embedded(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(write, range(8)))) == 1
    assert writer.runs == 1


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "PACKAGE", "no-such-package")
    with pytest.raises(ModelNotFound):
        write_embedded(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_conversion_imports_no_torch(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from ernie_chat.model import embedded
folder = embedded.write_embedded(Path(sys.argv[1]))
assert embedded.is_whole(folder)
assert not {"torch", "transformers", "llama_cpp"} & set(sys.modules)
"""
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=root, check=True)
