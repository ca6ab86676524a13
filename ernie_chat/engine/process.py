"""The engine's process: how it is made, how it ends, and how it says why it could not start.

vLLM starts `EngineCoreProc.run_engine_core` in a process of its own. That process outlives a
killed parent, answers to the terminal's Ctrl-C before the app has ended its streams, and reports
a failed start only as "Engine core initialization failed". What is here puts `_run` around it,
for as long as the engine is being built.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ernie_chat.engine import salts


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception of the engine's process, as plain data."""

    kind: str
    message: str
    trace: str


class Reports:
    """The reading end of what the engine's process has to say about its start."""

    def __init__(self, receiver: multiprocessing.connection.Connection) -> None:
        self._receiver = receiver

    def failure(self) -> Failure | None:
        """Why the engine's process gave up, if it said so."""
        try:
            return Failure(**self._receiver.recv()) if self._receiver.poll() else None
        except EOFError:
            return None


@contextlib.contextmanager
def guarded_engine_process(*, fork: bool) -> Iterator[Reports]:
    """While this is open, engines that vLLM makes run inside `_run`."""
    from vllm.v1.engine.core import EngineCoreProc

    original = EngineCoreProc.run_engine_core
    receiver, sender = multiprocessing.Pipe(duplex=False)
    # A spawned process gets its arguments pickled, and imports vLLM's function by itself.
    wrapper = functools.partial(_run, sender, original if fork else None)
    EngineCoreProc.run_engine_core = staticmethod(wrapper)
    try:
        with contextlib.nullcontext() if fork else _importable():
            yield Reports(receiver)
    finally:
        EngineCoreProc.run_engine_core = staticmethod(original)
        sender.close()
        receiver.close()


def end_engine_processes() -> None:
    """Kill engines of this process that are still there; for a start that can't be waited for."""
    for child in multiprocessing.active_children():
        if child.name.startswith("EngineCore"):
            child.kill()
            child.join()


def _run(
    sender: multiprocessing.connection.Connection,
    run_engine_core: Callable[..., None] | None,
    *args: Any,
    **kwargs: Any,
) -> None:
    """In the engine's process: vLLM's main function, with a beginning and an end of ours."""
    _separate()
    try:
        salts.install()
        if run_engine_core is None:
            from vllm.v1.engine.core import EngineCoreProc

            run_engine_core = EngineCoreProc.run_engine_core
        run_engine_core(*args, **kwargs)
    except Exception as error:
        # vLLM has logged it. Raised further, multiprocessing would print it once more.
        with contextlib.suppress(OSError):
            trace = "".join(traceback.format_exception(error))
            sender.send({"kind": type(error).__name__, "message": str(error), "trace": trace})
        sys.exit(1)


def _separate() -> None:
    """Make this process depend on its parent's life and on nothing else of it."""
    # Not in the terminal's group: Ctrl-C goes to the app, which then ends the engine in order.
    with contextlib.suppress(PermissionError):  # already a group's leader
        os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a fork inherits the web server's handlers
    _drop_inherited_sockets()
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()


def _end_with_parent() -> None:
    """The kernel closes a dead parent's end of a pipe, however it died."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _drop_inherited_sockets() -> None:
    """A forked process holds the web server's port and its browsers' connections open. Their
    numbers stay taken, by /dev/null: objects that believe to own them may still close them."""
    null = os.open(os.devnull, os.O_RDWR)
    for entry in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with contextlib.suppress(OSError):
            duplicate = socket.socket(fileno=os.dup(int(entry)))
            family = duplicate.family
            duplicate.close()
            if family in (socket.AF_INET, socket.AF_INET6):
                os.dup2(null, int(entry), inheritable=False)
    os.close(null)


@contextlib.contextmanager
def _importable() -> Iterator[None]:
    """A spawned process must find this package, wherever the app was started from."""
    import ernie_chat

    root = str(Path(ernie_chat.__file__).parents[1])
    sys.path.insert(0, root)
    try:
        yield
    finally:
        sys.path.remove(root)
