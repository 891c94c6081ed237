"""A process with a cluster, for tests that kill it: says the numbers of its processes and
waits for a line.
"""

from __future__ import annotations

import json
import sys

from tacit.local.cluster import LocalCluster
from tacit.local.node_processes import shared_fork_server

if __name__ == "__main__":
    with LocalCluster() as cluster:
        about = {
            "server": shared_fork_server().pid,
            "nodes": [process.pid for process in cluster.processes],
            "folder": str(cluster.folder),
        }
        print(json.dumps(about), flush=True)
        sys.stdin.readline()
