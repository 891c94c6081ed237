"""One of several platform processes on one database, with everything but nodes.

`python -m tests.deployment.replica service.toml ADDRESS` serves at this address in place of the
file's, until it is ended.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from msgspec.structs import replace

from tacit.service.dashboard import mount
from tacit.service.server.app import make_app
from tacit.service.server.serve import ImpatientLoop, make_server, set_up_logs
from tacit.service.server.settings import load_settings
from tests.service.stand_in import StandIn


def main(config: str, address: str) -> None:
    """Serve API and dashboard."""
    set_up_logs()
    settings = replace(load_settings(Path(config)), listen=address)
    app = make_app(settings, execution=StandIn)
    mount(app, settings)
    with asyncio.Runner(loop_factory=ImpatientLoop) as runner:
        runner.run(make_server(settings, app).serve())


if __name__ == "__main__":
    main(*sys.argv[1:])
