"""The command line: `python -m ernie_chat COMMAND`. Finds the command's module and hands over.

Each command is a module with `add_arguments(parser)` and `run(arguments) -> exit status`, imported
only when it is asked for, so that help costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from argparse import REMAINDER, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence

COMMANDS: dict[str, tuple[str, str]] = {
    "bench": ("ernie_chat.measure.bench", "measure what the prefix cache gains here"),
    "replay": ("ernie_chat.measure.replay_command", "replay scripted chats against a running app"),
}
"""Name to module, and what it does in a line."""

INTERRUPTED = 130
"""Exit status of a program that Ctrl-C has ended, as shells count it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status."""
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {does}" for name, (_, does) in COMMANDS.items())
    parser = ArgumentParser(
        prog="python -m ernie_chat",
        description="A private Chinese and English chat. The chat itself starts with: make chat",
        epilog=f"commands:\n{listed}\n\npython -m ernie_chat COMMAND --help says more",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of those below")
    parser.add_argument("rest", nargs=REMAINDER, metavar="...", help="the command's own arguments")
    chosen = parser.parse_args(arguments)

    module, does = COMMANDS[chosen.command]
    command = importlib.import_module(module)
    own = ArgumentParser(prog=f"{parser.prog} {chosen.command}", description=does)
    command.add_arguments(own)
    try:
        status: int = command.run(own.parse_args(chosen.rest))
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


if __name__ == "__main__":
    sys.exit(main())
