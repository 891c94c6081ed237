"""What a node writes into its own log, beside those of agreements: links, faults, what it removed.

docs/messages.md lists all of them.
"""

from __future__ import annotations

from tacit.records.events import AgreementEvent, Event


class NodeStarted(Event, frozen=True, tag="started"):
    """The node listens."""

    node: int


class NodeStopped(Event, frozen=True, tag="stopped"):
    """The node was told to stop."""

    node: int


class AgreementRemoved(Event, frozen=True, tag="removed"):
    """What the node kept of an agreement is gone."""

    agreement: str
    what: str


class AgreementBroken(Event, frozen=True, tag="broken"):
    """What the node keeps of an agreement cannot be used."""

    agreement: str
    what: str


class LogSetBack(Event, frozen=True, tag="set back"):
    """A node's log of an agreement lacks what another remembers; the agreement does not go on."""

    agreement: str
    what: str


class LinkEvent(Event, frozen=True, omit_defaults=True):
    """What happened on a link."""

    peer: str = ""
    what: str = ""
    left_out: int = 0
    """How many such lines were left out before this one."""


class Connected(LinkEvent, frozen=True, tag="connected"):
    """A peer or platform is connected."""


class LinkRelayed(LinkEvent, frozen=True, tag="relayed"):
    """A peer that is not reached itself is connected through another; `what` says which."""


class RelayBegun(LinkEvent, frozen=True, tag="relays"):
    """What two peers say to each other goes through this node; `what` says to whom."""


class RelayEnded(LinkEvent, frozen=True, tag="relayed no more"):
    """It goes through this node no longer; `what` says why."""


class LinkLost(LinkEvent, frozen=True, tag="link lost"):
    """A link has ended."""


class LinkRejected(LinkEvent, frozen=True, tag="turned away"):
    """A stranger, or a platform with too many links, was rejected."""


class CertificateExpires(LinkEvent, frozen=True, tag="certificate expires"):
    """A certificate has expired, or will soon; `peer` is whose it is."""


class InternalError(LinkEvent, frozen=True, tag="failed itself"):
    """The node has a fault."""


class LogFailed(LinkEvent, frozen=True, tag="log failed"):
    """The log of an agreement could not be written."""


NodeEvent = (
    NodeStarted
    | NodeStopped
    | AgreementRemoved
    | AgreementBroken
    | LogSetBack
    | Connected
    | LinkRelayed
    | RelayBegun
    | RelayEnded
    | LinkLost
    | LinkRejected
    | CertificateExpires
    | InternalError
    | LogFailed
)
AnyEvent = AgreementEvent | NodeEvent
"""Of either log."""
