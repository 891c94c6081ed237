"""What the nodes' logs prove of nodes that departed from the protocol.

A node logs what others signed and sent to it where two contradict each other, and three log what
made them go on without the fourth. Everything is checked again from the agreement's keys alone. A
node that shows something else made it up.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.engine.agreement import Agreement
from tacit.engine.records import (
    Log,
    NodeNamed,
    RequestFailed,
    describe_suspects,
    read_evidence,
    suspects,
)
from tacit.errors import LogError


def check_evidence(agreement: Agreement, logs: Sequence[Log], /) -> str:
    """Whom the logs of all nodes, in their order, prove to have departed; empty if nobody.

    A `LogError` names nodes that show as evidence what proves nothing, beside what is proven.
    """
    shown: dict[bytes, None] = {}
    made_up: list[str] = []
    for node, log in enumerate(logs):
        for event in log:
            if isinstance(event, NodeNamed) or (
                isinstance(event, RequestFailed) and event.evidence
            ):
                try:
                    shown |= dict.fromkeys(_checked(agreement, node, event))
                except (LogError, ValueError) as error:
                    made_up.append(f"node {node} shows evidence that is none: {error}")
    words = describe_suspects(suspects(read_evidence(agreement, shown))) if shown else ""
    if made_up:
        raise LogError("; ".join([*dict.fromkeys(made_up), *([words] if words else [])]))
    return words


def _checked(agreement: Agreement, node: int, event: RequestFailed | NodeNamed) -> list[bytes]:
    """What an event shows, if it proves what the event says."""
    evidence = [bytes.fromhex(each) for each in event.evidence]
    statements = read_evidence(agreement, evidence)
    left = suspects(statements)
    if isinstance(event, NodeNamed):
        if left != {event.node} or node == event.node:
            raise LogError(f"it does not prove that node {event.node} cheated")
    elif any(statement.to != node for statement in statements):
        raise LogError("it was not sent to this node")
    return evidence
