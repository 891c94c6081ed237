"""The process of a local node: `python -m tacit.engine.node.process node.toml`.

With `--throw-away` the folder of the config file goes when the node stops: whoever started the node
and was killed before cleaning up leaves no keys behind.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tacit.engine.identity.cluster_files import LOCAL_PREFIX
from tacit.engine.identity.config import load_node_config
from tacit.engine.node.node import run_node
from tacit.errors import TacitError


def main(arguments: list[str], /) -> int:
    """Run the node of a config file until the standard input ends."""
    path = Path(arguments[0])
    try:
        run_node(load_node_config(path), until_input_ends=True)
    except TacitError as error:
        print(f"tacit: {error}", file=sys.stderr)
        return error.exit_code
    # The name is looked at too, since nothing else in the world should ever be removed by this.
    if "--throw-away" in arguments and path.parent.name.startswith(LOCAL_PREFIX):
        shutil.rmtree(path.parent, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
