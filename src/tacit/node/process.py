"""Run a node as a process until it is stopped; `python -m tacit.node.process node.toml`.

With `--throw-away` the folder of the config file is removed when the node stops. If the process
that started the node is killed before it cleans up, no keys stay behind.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
import threading
from pathlib import Path

from tacit.errors import TacitError
from tacit.files import forbid_core_files
from tacit.identity.cluster import LOCAL_PREFIX
from tacit.identity.config import NodeConfig, load_node_config
from tacit.node.processes import ForkLine
from tacit.node.server import Node

SWITCH_SECONDS = 0.0005
"""After so long a thread lets the event loop go on, which answers everybody."""


def run_node(config: NodeConfig, /, *, until_input_ends: bool = False) -> None:
    """Run a node until a signal, or the end of its standard input, stops it.

    The latter ties a node to the process that started it: a pipe closes even if that is killed.
    """
    forbid_core_files()
    # First: from here on the node has threads, an event loop and keys.
    forks = ForkLine.open()

    async def serve() -> None:
        # The default of 5 ms would delay every message by that, while a thread computes.
        sys.setswitchinterval(SWITCH_SECONDS)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        if until_input_ends:
            threading.Thread(target=_watch_input, args=(loop, stop), daemon=True).start()
        await Node(config, forks=forks).run(stop)

    asyncio.run(serve())


def _watch_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    sys.stdin.buffer.read()
    loop.call_soon_threadsafe(stop.set)


def main(arguments: list[str], /) -> int:
    """Run the node of a config file until the standard input ends."""
    path = Path(arguments[0])
    try:
        run_node(load_node_config(path), until_input_ends=True)
    except TacitError as error:
        print(f"tacit: {error}", file=sys.stderr)
        return error.exit_code
    # The name is checked too: with a wrong config file this would remove somebody's folder.
    if "--throw-away" in arguments and path.parent.name.startswith(LOCAL_PREFIX):
        shutil.rmtree(path.parent, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
