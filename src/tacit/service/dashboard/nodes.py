"""Show nodes: whether they answer, their clocks and certificates, and which run waits for one."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from html import escape

from nicegui import ui

from tacit.agreement import promise_of
from tacit.client import (
    ClusterView,
    ListedRun,
    NodeView,
    RunView,
)
from tacit.errors import ServiceError
from tacit.identity import key_fingerprint
from tacit.service.dashboard.frame import (
    Visitor,
    hint,
    html,
    mark,
    native,
    page_frame,
    show_error,
    table,
)
from tacit.service.dashboard.words import (
    ago,
    moment,
    number,
    time_left,
)

# After so long without news a rate is 0.
QUIET_SECONDS = 3.0
# After so long without news something is wrong; a sealed search tells less often.
SILENT_SECONDS = 6.0
SILENT_SEALED_SECONDS = 20.0


def silent_seconds(*, sealed: bool) -> float:
    """Return after how long without news something is wrong."""
    return SILENT_SEALED_SECONDS if sealed else SILENT_SECONDS


def silence(run: ListedRun, now: float, /) -> float:
    """Return for how long a running run has sent nothing."""
    if run.state != "running":
        return 0.0
    last = run.reported_at or run.running_since or now
    # What an earlier process reported before the run was resumed is no news.
    return max(0.0, now - max(last, run.running_since or last))


def missed_nodes(cluster: ClusterView | None, /) -> list[tuple[int, NodeView]]:
    """Return the nodes that do not answer, with their numbers."""
    nodes = [] if cluster is None else cluster.nodes
    return [(i, node) for i, node in enumerate(nodes) if not node.reachable]


def waits_for_nodes(run: RunView, cluster: ClusterView | None, /) -> bool:
    """Return whether a running run cannot go on; of four nodes, three may have agreed to."""
    missed = missed_nodes(cluster)
    if run.state != "running" or cluster is None or not missed:
        return False
    # What was agreed decides: three of four may go on, two never.
    is_spared = run.terms.on_loss == "three" and len(cluster.nodes) > 3
    return not is_spared or len(missed) > 1


def stall_words(
    run: RunView, cluster: ClusterView | None, now: float, /, *, sealed: bool
) -> str | None:
    """Return what is wrong with a running run, or nothing."""
    if run.state != "running":
        return None
    missed, quiet = missed_nodes(cluster), silence(run, now)
    # Who is missed comes before how long nothing came: it says what to do.
    if missed:
        i, node = missed[0]
        named = f"Node {i} ({node.host}:{node.port})"
        waits = waits_for_nodes(run, cluster)
        after = "The search waits for it." if waits else "The others go on without it."
        more = f" {len(missed) - 1} more cannot be reached." if len(missed) > 1 else ""
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


EVERY_SECONDS = 5.0
# A certificate that expires within a month is worth a word.
SOON_SECONDS = 30 * 86400.0
# A node with less room than this left is worth a word.
FULL_PART = 0.8


async def nodes_page(visitor: Visitor, /) -> None:
    with page_frame("Nodes", visitor, here="/nodes"):
        native("h1", "Nodes")
        shown = html()

        async def refresh() -> None:
            try:
                clusters = await visitor.api.get("/clusters", list[ClusterView])
            except ServiceError as error:
                show_error(error)
                return
            shown.set_content(clusters_markup(clusters, time.time()))

        await refresh()
    ui.timer(EVERY_SECONDS, refresh)


def clusters_markup(clusters: list[ClusterView], now: float, /) -> str:
    if not clusters:
        return hint("No cluster is set up. The platform's service.toml names them.")
    return "".join(_cluster(each, now) for each in clusters)


def _cluster(cluster: ClusterView, now: float) -> str:
    rows = [
        [
            f"{i}: {escape(node.host)}:{node.port}",
            reachable_markup(is_there=node.reachable),
            _last_seen(node, now),
            clock_markup(node.clock_offset_seconds),
            _room(node),
            _expires(node.certificate_expires, now),
            _to_compare(key_fingerprint(node.signing_key), node.signing_key, "key"),
            _to_compare(in_groups(node.certificate), node.certificate, "certificate"),
        ]
        for i, node in enumerate(cluster.nodes)
    ]
    heads = [
        "Node",
        "State",
        "Last seen",
        "Clock",
        "Room",
        "Certificate until",
        "Key",
        "Certificate",
    ]
    busy = (
        f"Runs: {number(cluster.running)} going on, {number(cluster.waiting)} waiting; "
        f"{number(cluster.slots)} at a time at most."
    )
    missed = sum(not node.reachable for node in cluster.nodes)
    trouble = f'<p class="banner">{_gone(missed)}</p>' if missed else ""
    return (
        f'<section class="card"><h2>{escape(cluster.name)}</h2>{trouble}<p>{busy}</p>'
        f"{table(heads, rows, 'Nodes of ' + cluster.name)}</section>"
    )


def _last_seen(node: NodeView, now: float) -> str:
    """Return when a node was last seen; to the second if it is missed."""
    seen = node.last_seen
    if seen is None:
        return "–"
    if node.reachable or now - seen >= 60:
        return ago(now - seen)
    return f"{time.strftime('%H:%M:%S', time.gmtime(seen))} UTC, {time_left(now - seen)} ago"


def _gone(count: int) -> str:
    """How many nodes do not answer.

    >>> _gone(1)
    'One node cannot be reached. Runs that need it wait.'
    """
    which = "One node" if count == 1 else f"{number(count)} nodes"
    return f"{which} cannot be reached. Runs that need {'it' if count == 1 else 'them'} wait."


def _expires(seconds: float | None, now: float) -> str:
    text = moment(seconds)
    is_soon = seconds is not None and seconds - now < SOON_SECONDS
    return f'<strong class="bad">{text}, renew it</strong>' if is_soon else text


def _room(node: NodeView) -> str:
    """Show how much of a node's room for this platform is taken, and the setting that limits it."""
    if node.room_used is None:
        return "–"
    taken = f"{node.room_used:.0%} taken"
    if node.room_used < FULL_PART:
        return taken
    return f'<strong class="bad">{taken}</strong> ({escape(node.scarcest or "")})'


def in_groups(digest: str, /) -> str:
    """Return as much of a certificate's hash as two people compare by phone.

    >>> in_groups("0123456789abcdef" * 4)
    '01234567 89abcdef 01234567 89abcdef'
    """
    return " ".join(digest[at : at + 8] for at in range(0, 32, 8))


def _to_compare(fingerprint: str, text: str, what: str) -> str:
    """Show what is read out by phone, with the whole text to copy behind it."""
    short = f'<code>{escape(fingerprint)}</code><span class="unseen"> the whole {what}</span>'
    whole = f"<code>{escape(text)}</code>"
    return f'<details class="whole"><summary>{short}</summary>{whole}</details>'


GONE = '<span class="mark gone"><span aria-hidden="true">✕</span> not reachable</span>'
# A clock that is off by more is worth a word.
CLOCK_SECONDS = 2.0


def nodes_table(cluster: ClusterView | None, /) -> str:
    if cluster is None:
        return hint("Nodes are chosen when participants are invited.")
    rows = []
    for i, node in enumerate(cluster.nodes):
        rows.append(
            [
                f"{i}: {escape(node.host)}:{node.port}",
                reachable_markup(is_there=node.reachable),
                clock_markup(node.clock_offset_seconds),
            ]
        )
    shown = table(["Node", "State", "Clock"], rows, f"Nodes of {cluster.name}")
    return shown + hint(promise_of(len(rows)))


def reachable_markup(*, is_there: bool) -> str:
    return mark(True, "reachable") if is_there else GONE


def clock_markup(offset: float | None, /) -> str:
    """Show how far a node's clock is ahead of the platform's."""
    if offset is None:
        return "–"
    # Adding zero turns the minus zero of rounding into zero.
    clock = f"{round(offset, 1) + 0.0:+.1f} s"
    return f'<strong class="bad">{clock}</strong>' if abs(offset) > CLOCK_SECONDS else clock
