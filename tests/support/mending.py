"""Nodes that a test has stopped or killed, brought back for the next test."""

from __future__ import annotations

import signal
import time

from tacit.local.cluster import LocalCluster

UP_SECONDS = 120.0


def mend(cluster: LocalCluster) -> None:
    """Let stopped nodes go on, and start dead ones and wait until they listen."""
    begun = {}
    for node, process in enumerate(cluster.processes):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
        else:
            begun[node] = starts(cluster, node)
            cluster.kill(node)
            cluster.restart(node)
    for node, before in begun.items():
        wait_for_start(cluster, node, before)


def wait_for_start(cluster: LocalCluster, node: int, before: int) -> None:
    """Return once a node has started more than so many times."""
    until = time.monotonic() + UP_SECONDS
    while starts(cluster, node) <= before:
        cluster.check_alive()
        assert time.monotonic() < until, f"node {node} does not come back"
        time.sleep(0.01)


def starts(cluster: LocalCluster, node: int) -> int:
    """How often a node has written that it listens."""
    log = cluster.folder / f"node-{node}.data" / "log.jsonl"
    return log.read_bytes().count(b'"event":"started"')
