"""The environment's say over the hubs, in a process that reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ernie_chat.config.settings import ERNIE
from tests.support.fake_hub import serve

ROOT = Path(__file__).parents[3]
REPO = "someone/small-1.5-chat"

SCRIPT = """
import json, socket, sys
from pathlib import Path
attempts = []
def watch(name):
    old = getattr(socket if name == "getaddrinfo" else socket.socket, name)
    def watched(*args, **more):
        attempts.append([name, repr(args)])
        return old(*args, **more)
    setattr(socket if name == "getaddrinfo" else socket.socket, name, watched)
for name in ("getaddrinfo", "connect", "connect_ex", "sendto"):
    watch(name)
from ernie_chat.config.settings import load_settings
from ernie_chat.model.locate import locate
model = locate(model=sys.argv[1], hub="auto", hub_timeout_s=20,
               cache_dir=load_settings().cache_dir, on_progress=lambda progress: None)
heavy = [name for name in ("torch", "transformers", "vllm", "chainlit") if name in sys.modules]
print(json.dumps([model.source, str(model.folder), attempts, heavy]))
"""


def in_a_process(model: str, **environment: str) -> tuple[str, Path, list[Any], list[str]]:
    # An engine started earlier in this test process has set HF_HUB_OFFLINE for itself.
    inherited = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, model],
        env=inherited | environment, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    source, folder, attempts, heavy = json.loads(done.stdout.splitlines()[-1])
    return source, Path(folder), attempts, heavy


def test_offline_makes_no_attempt(embedded_folder: Path, tmp_path: Path) -> None:
    source, folder, attempts, heavy = in_a_process(
        ERNIE,
        HF_HUB_OFFLINE="1",
        HF_HOME=str(tmp_path / "hf"),
        MODELSCOPE_CACHE=str(tmp_path / "ms"),
    )
    assert (source, folder) == ("embedded", embedded_folder)
    assert attempts == []
    assert heavy == []


def test_environment_of_the_clients(files: dict[str, bytes], tmp_path: Path) -> None:
    home = tmp_path / "home"
    with serve(REPO, files) as hub:
        environment = {"HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HF_TOKEN": "hf_secret"}
        source, folder, attempts, heavy = in_a_process(REPO, **environment)
        assert source == "huggingface"
        assert folder.is_relative_to(home)
        assert hub.tokens == {"Bearer hf_secret"}
        assert hub.storage_tokens == {None}
        assert attempts
        assert heavy == []
        source, _, attempts, _ = in_a_process(REPO, **environment)
        assert (source, attempts) == ("cache", [])
