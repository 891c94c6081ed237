"""Whether a run that is running gets anywhere: who is missed, and since when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tacit.service.dashboard.words import time_left

QUIET_SECONDS = 3.0
"""After so long without news a rate is 0."""
SILENT_SECONDS = 6.0
"""After so long without news something is wrong; a sealed search tells less often."""
SILENT_SEALED_SECONDS = 20.0


def silent_seconds(*, sealed: bool) -> float:
    """After how long without news something is wrong."""
    return SILENT_SEALED_SECONDS if sealed else SILENT_SECONDS


def silence(run: dict[str, Any], now: float, /) -> float:
    """For how long nothing has been heard of a run that is running."""
    if run["state"] != "running":
        return 0.0
    progress = run.get("progress") or {}
    last = progress.get("at") or run.get("reported_at") or run.get("running_since") or now
    # What an earlier process reported before the run was resumed is no news.
    return max(0.0, now - max(last, run.get("running_since") or last))


def missed_nodes(cluster: dict[str, Any] | None, /) -> list[tuple[int, dict[str, Any]]]:
    """The nodes that do not answer, with their numbers."""
    nodes = cluster["nodes"] if cluster is not None else []
    return [(i, node) for i, node in enumerate(nodes) if not node["reachable"]]


def waits_for_nodes(run: dict[str, Any], cluster: dict[str, Any] | None, /) -> bool:
    """Whether a run that is running cannot go on; of four nodes, three may have agreed to.

    >>> nodes = [{"reachable": True}] * 3 + [{"reachable": False}]
    >>> run = {"state": "running", "terms": {"on_loss": "wait"}}
    >>> waits_for_nodes(run, {"nodes": nodes}), waits_for_nodes(run, None)
    (True, False)
    >>> waits_for_nodes({**run, "terms": {"on_loss": "three"}}, {"nodes": nodes})
    False
    """
    gone = missed_nodes(cluster)
    if run["state"] != "running" or cluster is None or not gone:
        return False
    is_spared = run["terms"].get("on_loss") == "three" and len(cluster["nodes"]) > 3
    return not is_spared or len(gone) > 1


def stall_words(
    run: dict[str, Any], cluster: dict[str, Any] | None, now: float, /, *, sealed: bool
) -> str | None:
    """What is wrong with a run that is running, or nothing.

    >>> run = {"state": "running", "running_since": 0.0, "progress": {"at": 50.0}, "terms": {}}
    >>> there, gone = {"host": "a", "port": 1, "reachable": True}, {"host": "b", "port": 2}
    >>> nodes = [there, {**gone, "reachable": False, "last_seen": 52.0}]
    >>> stall_words(run, {"nodes": nodes}, 60.0, sealed=False)
    'Node 1 (b:2) cannot be reached since 00:00:52 UTC, 8 s ago. The search waits for it.'
    >>> later = {**run, "progress": {"at": 55.0}}
    >>> stall_words(later, {"nodes": nodes}, 60.0, sealed=False)
    'Node 1 (b:2) cannot be reached since 00:00:55 UTC, 5 s ago. The search waits for it.'
    >>> stall_words(run, {"nodes": [there]}, 60.0, sealed=False)
    'Nothing has come from the nodes since 00:00:50 UTC, 10 s ago.'
    >>> stall_words(run, {"nodes": [there]}, 52.0, sealed=False)
    """
    if run["state"] != "running":
        return None
    gone, quiet = missed_nodes(cluster), silence(run, now)
    if gone:
        i, node = gone[0]
        named = f"Node {i} ({node['host']}:{node['port']})"
        waits = waits_for_nodes(run, cluster)
        after = "The search waits for it." if waits else "The others go on without it."
        more = f" {len(gone) - 1} more cannot be reached." if len(gone) > 1 else ""
        since = node.get("last_seen")
        if since is not None and waits:
            # It took part in whatever came last, which may be later than it was asked.
            since = max(since, now - quiet)
        return f"{named} cannot be reached{_since(since, now)}. {after}{more}"
    if quiet >= silent_seconds(sealed=sealed):
        return f"Nothing has come from the nodes{_since(now - quiet, now)}."
    return None


def _since(moment: float | None, now: float) -> str:
    if moment is None:
        return ""
    clock = datetime.fromtimestamp(moment, tz=UTC).strftime("%H:%M:%S UTC")
    return f" since {clock}, {time_left(now - moment)} ago"
