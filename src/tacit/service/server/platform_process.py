"""The process of a local platform: `python -m tacit.service.server.platform_process service.toml`.

It serves until its standard input ends, which the operating system sees to whatever happens to the
one who started it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from tacit.errors import TacitError
from tacit.service.server.serve import serve
from tacit.service.server.settings import load_settings


def main(arguments: list[str], /) -> int:
    """Serve as a config file says until the standard input ends."""
    try:
        settings = load_settings(Path(arguments[0]))
        threading.Thread(target=_stop_at_the_end_of_input, daemon=True).start()
        serve(settings)
    except TacitError as error:
        print(f"tacit: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _stop_at_the_end_of_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
