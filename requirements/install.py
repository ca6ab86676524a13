"""Makes `.venv` ready: `python3 requirements/install.py [test]`. Standard library only.

Silent and instant when nothing is to do. Installs a complete pinned list without resolving
anything (uv, `--no-deps`), then byte-compiles it: without .pyc files every engine process would
spend half a minute compiling.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UV = "uv==0.13.9"
# What every start imports; the rest is compiled when it is first imported.
COMPILED = (
    "vllm", "torch", "transformers", "chainlit", "pydantic", "numpy", "fastapi", "starlette",
    "openai", "socketio", "engineio", "jinja2", "sympy", "huggingface_hub", "traceloop",
    "opentelemetry", "networkx", "aiohttp", "tqdm", "mcp", "anyio", "httpx",
)  # fmt: skip


def main() -> int:
    if problem := wrong_machine():
        return fail(problem)
    app = ROOT / "requirements" / f"{backend()}.txt"
    stamps = {VENV / "ready-app": fingerprint([app])}
    lists = [app]
    if "test" in sys.argv[1:]:
        lists.append(ROOT / "requirements" / "test.txt")
        stamps[VENV / "ready-test"] = fingerprint(lists)
    if all(stamp.is_file() and stamp.read_text() == key for stamp, key in stamps.items()):
        return 0
    began = time.monotonic()
    try:
        make(lists)
    except subprocess.CalledProcessError as error:
        return fail(
            "The set-up stopped at:\n  "
            + " ".join(map(str, error.cmd))
            + "\nWhat it says above is the reason: most often no network or a full disk (3 GB are"
            " needed). Run the same command again to go on from there."
        )
    for stamp, key in stamps.items():
        stamp.write_text(key)
    say(f"Set up in {time.monotonic() - began:.0f} s.")
    return 0


def wrong_machine() -> str | None:
    """Why this machine can't run the pinned lists, or None."""
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return (
            f"ERNIE Chat needs Python 3.11, 3.12 or 3.13; this is {platform.python_version()}."
            " Choose another with: make PYTHON=python3.11"
        )
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return (
            "The pinned packages are for Linux on x86-64;"
            f" this is {platform.system()} on {platform.machine()}."
            " Install requirements.txt by hand, or use a Linux machine."
        )
    return None


def backend() -> str:
    """ "cuda" where an NVIDIA GPU is found, else "cpu"; ERNIE_CHAT_BACKEND decides when set."""
    chosen = os.environ.get("ERNIE_CHAT_BACKEND", "")
    if chosen in ("cpu", "cuda"):
        return chosen
    if shutil.which("nvidia-smi"):
        found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
        if found.returncode == 0 and "GPU" in found.stdout:
            return "cuda"
    return "cpu"


def fingerprint(lists: list[Path]) -> str:
    """Changes when something has to be installed again."""
    digest = hashlib.sha256(f"{UV} {sys.version_info[:2]}".encode())
    for file in (Path(__file__), *lists):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def make(lists: list[Path]) -> None:
    if not PYTHON.is_file():
        say("Making .venv ...")
        run(sys.executable, "-m", "venv", VENV)
    run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", UV)
    say(f"Installing {', '.join(file.stem for file in lists)} (takes minutes the first time) ...")
    command: list[str | Path] = [VENV / "bin" / "uv", "pip", "install", "--quiet", "--no-deps"]
    command += ["--python", PYTHON]
    # uv does not read pip's settings.
    if links := os.environ.get("PIP_FIND_LINKS"):
        for link in links.split():
            command += ["--find-links", link]
    elif lists[0].stem == "cpu":
        command += ["--torch-backend", "cpu"]
    if index := os.environ.get("PIP_INDEX_URL"):
        command += ["--default-index", index]
    for file in lists:
        command += ["--requirements", file]
    run(*command)
    say("Compiling ...")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(VENV), "platbase": str(VENV)}))
    folders = [site / name for name in COMPILED if (site / name).is_dir()]
    # Some packages carry files that aren't meant for this Python; compileall reports them.
    subprocess.run(
        [PYTHON, "-m", "compileall", "-qq", "-j", "0", *folders], check=False, env=environment()
    )


def environment() -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    if certificates := env.get("PIP_CERT"):
        env.setdefault("SSL_CERT_FILE", certificates)
    return env


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, env=environment())


def say(text: str) -> None:
    print(text, flush=True)


def fail(text: str) -> int:
    print(text, file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
