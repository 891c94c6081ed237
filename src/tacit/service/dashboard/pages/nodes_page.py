"""All nodes: whether they answer, how their clocks go, when their certificates expire."""

from __future__ import annotations

import time
from html import escape

from nicegui import ui

from tacit.client import ClusterView, NodeView
from tacit.errors import ServiceError
from tacit.identity import key_fingerprint
from tacit.service.dashboard.frame import Visitor, hint, html, native, page_frame, show_error, table
from tacit.service.dashboard.pages.run_parts import clock_markup, reachable_markup
from tacit.service.dashboard.words import ago, moment, number, time_left

EVERY_SECONDS = 5.0
SOON_SECONDS = 30 * 86400.0
"""A certificate that expires within a month is worth a word."""


async def nodes_page(visitor: Visitor, /) -> None:
    """Build the page."""
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
    """Each cluster with its nodes."""
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
            _expires(node.certificate_expires, now),
            _to_compare(key_fingerprint(node.signing_key), node.signing_key, "key"),
            _to_compare(in_groups(node.certificate), node.certificate, "certificate"),
        ]
        for i, node in enumerate(cluster.nodes)
    ]
    heads = ["Node", "State", "Last seen", "Clock", "Certificate until", "Key", "Certificate"]
    busy = (
        f"Runs: {number(cluster.running)} going on, {number(cluster.waiting)} waiting; "
        f"{number(cluster.slots)} at a time at most."
    )
    gone = sum(not node.reachable for node in cluster.nodes)
    trouble = f'<p class="banner">{_gone(gone)}</p>' if gone else ""
    return (
        f'<section class="card"><h2>{escape(cluster.name)}</h2>{trouble}<p>{busy}</p>'
        f"{table(heads, rows, 'Nodes of ' + cluster.name)}</section>"
    )


def _last_seen(node: NodeView, now: float) -> str:
    """When a node was last seen; of one that is missed, to the second."""
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


def in_groups(digest: str, /) -> str:
    """As much of a certificate's hash as two people compare by phone, as the commands print it.

    >>> in_groups("0123456789abcdef" * 4)
    '01234567 89abcdef 01234567 89abcdef'
    """
    return " ".join(digest[at : at + 8] for at in range(0, 32, 8))


def _to_compare(fingerprint: str, text: str, what: str) -> str:
    """What is read out by phone, with the whole of it to copy."""
    short = f'<code>{escape(fingerprint)}</code><span class="unseen"> the whole {what}</span>'
    whole = f"<code>{escape(text)}</code>"
    return f'<details class="whole"><summary>{short}</summary>{whole}</details>'
