"""Where a model comes from, with both hubs' real clients against a hub on localhost."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ernie_chat.config.settings import EMBEDDED, ERNIE, load_settings
from ernie_chat.errors import (
    DownloadFailed,
    ModelCorrupt,
    ModelError,
    ModelNotFound,
    ModelUnsupported,
)
from ernie_chat.model import embedded
from ernie_chat.model.hubs import HubSilent, within
from ernie_chat.model.locate import HubChoice, locate
from ernie_chat.model.modelscope import ModelScope
from ernie_chat.model.source import Model, Progress
from tests.support.fake_hub import FakeHub, serve
from tests.support.small_model import write_small_model

ROOT = Path(__file__).parents[3]
REPO = "someone/small-1.5-chat"
UNWANTED = {
    "README.md": b"read me",
    "pytorch_model.bin": b"the weights once more",
    "modeling.py": b"raise SystemExit",
    "onnx/model.safetensors": b"and once more",
}


class World:
    """Both hubs, both caches, and what was reported on the way."""

    def __init__(self, huggingface: FakeHub, modelscope: FakeHub, root: Path) -> None:
        self.huggingface, self.modelscope, self.root = huggingface, modelscope, root
        self.progress: list[Progress] = []

    def locate(self, model: str = REPO, *, hub: HubChoice = "auto", timeout_s: float = 20) -> Model:
        return locate(
            model=model,
            hub=hub,
            hub_timeout_s=timeout_s,
            cache_dir=load_settings().cache_dir,
            on_progress=self.progress.append,
        )

    def asked(self) -> int:
        return len(self.huggingface.asked) + len(self.modelscope.asked)

    def weights(self, place: str) -> Path:
        """The weights' one copy in a hub's cache, behind links."""
        found = next((self.root / place).rglob("model.safetensors"))
        return found.resolve()


@pytest.fixture
def world(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    from huggingface_hub import constants

    with ExitStack() as stack:
        huggingface, modelscope = (
            stack.enter_context(serve(REPO, files | UNWANTED)) for _ in range(2)
        )
        # The client reads its environment once, when it is imported.
        monkeypatch.setattr(constants, "ENDPOINT", huggingface.url)
        monkeypatch.setattr(
            constants,
            "HUGGINGFACE_CO_URL_TEMPLATE",
            huggingface.url + "/{repo_id}/resolve/{revision}/{filename}",
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        # What hasn't filled a chunk is lost when a connection breaks.
        monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 1 << 14)
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", modelscope.url)
        monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path / "ms"))
        monkeypatch.setenv("MODELSCOPE_HOME", str(tmp_path / "ms-home"))
        monkeypatch.setattr("modelscope_hub._download.DOWNLOAD_RETRY_TIMES", 0)
        monkeypatch.chdir(tmp_path)
        yield World(huggingface, modelscope, tmp_path)


def go_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


# Folders


@pytest.mark.parametrize("name", ["ERNIE-4.5-0.3B-PT", "a.b.c", "with space", "中文"])
def test_folder(world: World, name: str) -> None:
    folder = write_small_model(world.root / name)
    for wanted in (str(folder), name, f"./{name}/"):
        model = world.locate(wanted)
        assert (model.folder, model.name, model.source) == (folder, name, "folder")
        assert model.wanted == wanted
        assert not model.stands_in
    assert world.asked() == 0


def test_folder_named_like_the_hub_goes_first(world: World) -> None:
    write_small_model(world.root / ERNIE)
    assert world.locate(ERNIE).source == "folder"
    assert world.asked() == 0


def test_damaged_folder_is_never_replaced(world: World) -> None:
    folder = write_small_model(world.root / ERNIE)
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelCorrupt):
        world.locate(ERNIE)


@pytest.mark.parametrize(
    "name",
    [
        "/no/such/folder",
        "./nowhere",
        "~/nowhere/at/all",
        "a/b/c",
        "a..b/c",
        "x" * 9999,
        "~nobody-here/x",
        "a\0b",
    ],
)
def test_no_folder_and_no_hub_name(world: World, name: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        world.locate(name)
    assert caught.value.fields["model"] == name
    assert "ERNIE_CHAT_MODEL" in caught.value.sentence("en")
    assert world.asked() == 0


# Downloads


def check_progress(world: World, hub: str, files: dict[str, bytes]) -> None:
    steps = world.progress
    assert {step.hub for step in steps} == {hub}
    assert {step.total for step in steps} == {sum(map(len, files.values()))}
    done = [step.done for step in steps]
    assert done == sorted(done)
    assert done[-1] == steps[-1].total


@pytest.mark.parametrize("place", ["huggingface", "modelscope"])
def test_download(world: World, place: Any, files: dict[str, bytes]) -> None:
    model = world.locate(hub=place)
    assert (model.name, model.source) == (REPO, place)
    for name, content in files.items():
        assert (model.folder / name).read_bytes() == content
    used: FakeHub = getattr(world, place)
    for name in UNWANTED:
        assert used.gets(name) == []
    label = {"huggingface": "Hugging Face", "modelscope": "ModelScope"}[place]
    check_progress(world, label, files)

    before = world.asked()
    again = world.locate()
    assert (again.source, again.folder) == ("cache", model.folder)
    assert world.asked() == before


def test_hugging_face_goes_first(world: World) -> None:
    assert world.locate().source == "huggingface"
    assert world.modelscope.asked == []


@pytest.mark.parametrize("place", ["huggingface", "modelscope"])
def test_interrupted_download_goes_on(
    world: World, place: Any, files: dict[str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    used: FakeHub = getattr(world, place)
    size = len(files["model.safetensors"])
    used.cut["model.safetensors"] = 123_456
    with pytest.raises(DownloadFailed) as caught:
        world.locate(hub=place)
    assert caught.value.fields["model"] == REPO

    used.heal()
    world.progress.clear()
    model = world.locate(hub=place)
    assert model.source == place
    assert (model.folder / "model.safetensors").read_bytes() == files["model.safetensors"]
    (asked_range,) = used.gets("model.safetensors")
    assert asked_range is not None
    start = int(asked_range.removeprefix("bytes=").removesuffix("-"))
    assert 0 < start <= 123_456 < size
    assert any(step.done >= start for step in world.progress[:3])


@pytest.mark.parametrize("place", ["huggingface", "modelscope"])
def test_half_a_download_is_never_used(
    world: World,
    place: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not even when what is missing is a file that a whole model could do without."""
    caplog.set_level(logging.CRITICAL)
    getattr(world, place).cut["generation_config.json"] = 3
    with pytest.raises(DownloadFailed):
        world.locate(hub=place)
    go_offline(monkeypatch)
    with pytest.raises(ModelNotFound):
        world.locate(hub=place)


@pytest.mark.parametrize("place", ["huggingface", "modelscope"])
def test_wrong_bytes_are_refused(
    world: World, place: Any, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr("modelscope_hub._download.DOWNLOAD_HASH_RETRY_TIMES", 1)
    used: FakeHub = getattr(world, place)
    right = files["model.safetensors"]
    used.swapped["model.safetensors"] = right[:-1] + bytes([right[-1] ^ 1])
    with pytest.raises(DownloadFailed):
        world.locate(hub=place)
    used.heal()
    model = world.locate(hub=place)
    assert (model.folder / "model.safetensors").read_bytes() == right


@pytest.mark.parametrize("place", ["huggingface", "modelscope"])
@pytest.mark.parametrize(
    "damage", [lambda content: content[:-9], lambda content: bytes(len(content))]
)
def test_damaged_cache_is_mended(
    world: World, place: Any, damage: Callable[[bytes], bytes], files: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.CRITICAL)
    world.locate(hub=place)
    weights = world.weights({"huggingface": "hf", "modelscope": "ms"}[place])
    weights.write_bytes(damage(files["model.safetensors"]))

    with monkeypatch.context() as offline:
        go_offline(offline)
        with pytest.raises(ModelCorrupt):
            world.locate(hub=place)

    model = world.locate(hub=place)
    assert model.source == place
    assert (model.folder / "model.safetensors").read_bytes() == files["model.safetensors"]


def test_damaged_small_file_in_the_cache_is_mended(
    world: World, files: dict[str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    folder = world.locate(hub="huggingface").folder
    (folder / "config.json").resolve().write_bytes(b"{")
    model = world.locate(hub="huggingface")
    assert (model.folder / "config.json").read_bytes() == files["config.json"]


def test_model_that_is_no_chat_model(world: World) -> None:
    for hub in (world.huggingface, world.modelscope):
        config = json.loads(hub.files["tokenizer_config.json"])
        del config["chat_template"]
        hub.files = hub.files | {"tokenizer_config.json": json.dumps(config).encode()}
    with pytest.raises(ModelUnsupported):
        world.locate()


# Silence


def test_silent_hub(world: World) -> None:
    """Hugging Face stays silent to the end of the test; ModelScope is asked all the same."""
    world.huggingface.silent = threading.Event()
    assert world.locate(timeout_s=0.5).source == "modelscope"
    assert not world.huggingface.silent.is_set()


def test_hanging_name_resolution(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    found, resolve = threading.Event(), socket.getaddrinfo

    def hanging(host: Any, *rest: Any, **more: Any) -> Any:
        if host in ("hub.invalid", b"hub.invalid"):
            found.wait()
            raise socket.gaierror("unknown name")
        return resolve(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    monkeypatch.setattr(constants, "ENDPOINT", "http://hub.invalid")
    try:
        assert world.locate(timeout_s=0.5).source == "modelscope"
    finally:
        found.set()


def test_no_hub_answers(world: World) -> None:
    world.huggingface.silent = world.modelscope.silent = threading.Event()
    with pytest.raises(ModelNotFound) as caught:
        world.locate(timeout_s=0.2)
    assert caught.value.fields["model"] == REPO


def test_no_way_to_the_hub_is_found_out_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client itself would try for seven seconds, at every start without a network."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("waits to try again"))
    with pytest.raises(HubSilent):
        ModelScope().ask(REPO, timeout_s=20)


def test_broken_hub_hands_over(
    world: World, files: dict[str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    world.huggingface.cut["model.safetensors"] = 1000
    model = world.locate()
    assert model.source == "modelscope"
    assert (model.folder / "model.safetensors").read_bytes() == files["model.safetensors"]


def test_within() -> None:
    assert within(5, lambda: 3) == 3
    assert within(5, lambda: None) is None
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0)
    never = threading.Event()
    with pytest.raises(HubSilent):
        within(0.01, never.wait)
    never.set()


# The embedded model


def test_embedded_by_name(world: World, embedded_folder: Path) -> None:
    model = world.locate(EMBEDDED)
    assert (model.folder, model.source) == (embedded_folder, "embedded")
    assert not model.stands_in
    assert world.asked() == 0


def test_embedded_stands_in_for_the_default(world: World, embedded_folder: Path) -> None:
    model = world.locate(ERNIE)  # the hubs answer, but don't have it
    assert model.folder == embedded_folder
    assert (model.name, model.wanted) == (embedded.NAME, ERNIE)
    assert model.stands_in
    assert world.huggingface.asked
    assert world.modelscope.asked


@pytest.mark.parametrize("name", [REPO.upper(), "someone/else", "gpt2"])
def test_embedded_stands_in_for_nothing_else(world: World, name: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        world.locate(name)
    assert caught.value.fields["model"] == name


def test_without_the_package(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "PACKAGE", "no-such-package")
    with pytest.raises(ModelError) as caught:
        world.locate(ERNIE)
    assert caught.value.fields == {"model": ERNIE}
