"""Whether a run that is running gets anywhere: who is missed, and since when."""

from __future__ import annotations

from datetime import UTC, datetime

from tacit.client import (
    ClusterView,
    NodeView,
    RunSummary,
    RunView,
)
from tacit.service.dashboard.words import time_left

QUIET_SECONDS = 3.0
"""After so long without news a rate is 0."""
SILENT_SECONDS = 6.0
"""After so long without news something is wrong; a sealed search tells less often."""
SILENT_SEALED_SECONDS = 20.0


def silent_seconds(*, sealed: bool) -> float:
    """After how long without news something is wrong."""
    return SILENT_SEALED_SECONDS if sealed else SILENT_SECONDS


def silence(run: RunSummary, now: float, /) -> float:
    """For how long nothing has been heard of a run that is running."""
    if run.state != "running":
        return 0.0
    last = run.reported_at or run.running_since or now
    # What an earlier process reported before the run was resumed is no news.
    return max(0.0, now - max(last, run.running_since or last))


def missed_nodes(cluster: ClusterView | None, /) -> list[tuple[int, NodeView]]:
    """The nodes that do not answer, with their numbers."""
    nodes = [] if cluster is None else cluster.nodes
    return [(i, node) for i, node in enumerate(nodes) if not node.reachable]


def waits_for_nodes(run: RunView, cluster: ClusterView | None, /) -> bool:
    """Whether a run that is running cannot go on; of four nodes, three may have agreed to."""
    gone = missed_nodes(cluster)
    if run.state != "running" or cluster is None or not gone:
        return False
    is_spared = run.terms.on_loss == "three" and len(cluster.nodes) > 3
    return not is_spared or len(gone) > 1


def stall_words(
    run: RunView, cluster: ClusterView | None, now: float, /, *, sealed: bool
) -> str | None:
    """What is wrong with a run that is running, or nothing."""
    if run.state != "running":
        return None
    gone, quiet = missed_nodes(cluster), silence(run, now)
    if gone:
        i, node = gone[0]
        named = f"Node {i} ({node.host}:{node.port})"
        waits = waits_for_nodes(run, cluster)
        after = "The search waits for it." if waits else "The others go on without it."
        more = f" {len(gone) - 1} more cannot be reached." if len(gone) > 1 else ""
        since = node.last_seen
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
