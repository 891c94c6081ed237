"""Every error tacit raises on purpose, in one tree.

::

    TacitError                    catch this to catch all of them
    ├── InputError                something the user gave is wrong
    │   ├── FileError             a file, with the place in it and the remedy
    │   ├── ProblemError          a problem that contradicts itself
    │   ├── DisclosureError       a disclosure that does not exist or does not fit
    │   └── ParameterError        a setting out of its range
    ├── EngineError               the Privacy Engine says no, or cannot go on
    │   ├── AgreementError        an agreement contradicts itself, or somebody did not sign it
    │   ├── SealError             a sealed box or its manifest is not what it should be
    │   ├── LogError              a node's log was cut, changed or reordered
    │   │   ├── UnprovenError     nothing contradicts, and yet not every answer is proven
    │   │   └── UnwrittenError    it cannot be written now: the disk is full or read-only
    │   ├── RefusedError          a node refuses what it was asked, and says why
    │   └── TrustError            a key, an agreement or a certificate is not the one we trust
    ├── PlatformError             the platform cannot be reached, or refuses, and says why
    │   ├── UnreachableError      nobody answers there, or not in time
    │   ├── UnreadableError       what it answers is not understood here
    │   └── ServiceError          it refuses: has a status and a code of the HTTP API
    │       ├── MalformedError    the request is not one of the API's
    │       ├── CredentialError   no token or code, or one that is not valid
    │       ├── ForbiddenError    this role may not do that
    │       ├── NotThereError     it does not exist, or is not for you to see
    │       ├── WrongStateError   the state of a run or a series does not allow it now
    │       ├── InternalError     the platform failed by its own fault
    │       └── OverloadedError   the same may work later
    │           ├── TooManyError  too many requests; says when to retry
    │           ├── BusyError     too much to do for everybody
    │           ├── NodesError    the nodes cannot be reached
    │           └── StorageError  the database cannot be used
    ├── FencedError               another process of the platform has taken a run over
    ├── RunEndedError             a run that was waited for ended without being finished
    ├── WaitingError              what was waited for did not happen in time
    └── MpcError                  a computation between the nodes did not come to its end
        ├── MaskReuseError        a mask was about to be used twice; nothing was sent
        └── PeerError             names the peer
            ├── PeerLostError     the link to it is gone
            │   └── LinkClosedError   it was closed in order, at either end
            ├── PeerTimeoutError  it stayed silent for longer than the limit
            ├── VersionError      it speaks another version of the nodes' protocol
            ├── FrameError        it sent something that is not a frame of ours
            ├── LoneRefusalError  it alone of four refuses, which ends nothing
            └── AbortError        what it sent contradicts the protocol
                └── MismatchError  it sent something else than another vouches for

A `ServiceError` is raised on the platform, travels as its code, and is raised again by the client.

Each message says what was wrong, where, and what to do about it. The command line prints it as
one line and ends with the error's `exit_code`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class TacitError(Exception):
    """The root of the tree."""

    exit_code = 1


class InputError(TacitError):
    """Something the user gave is wrong; the message says what to give instead."""

    exit_code = 2


class FileError(InputError):
    """A file is wrong: names the file, the place in it, what is wrong there, and the remedy.

    >>> print(FileError("w.csv", "row 3", "has 2 cells, row 1 has 3", "fill it up"))
    w.csv, row 3: has 2 cells, row 1 has 3; fill it up
    """

    def __init__(self, path: str | Path, place: str | None, what: str, remedy: str) -> None:
        self.path, self.place, self.what, self.remedy = str(path), place, what, remedy
        where = f"{path}, {place}" if place else f"{path}"
        super().__init__(f"{where}: {what}; {remedy}")

    def __reduce__(self) -> tuple[type[FileError], tuple[str, str | None, str, str]]:
        # Errors travel between processes, and the default would hand back the message alone.
        return FileError, (self.path, self.place, self.what, self.remedy)


class ProblemError(InputError):
    """A problem contradicts itself: a row without an owner, more rows than columns."""


class DisclosureError(InputError):
    """A disclosure that does not exist, or that does not fit the population."""


class ParameterError(InputError):
    """A setting out of its range."""


class EngineError(TacitError):
    """The Privacy Engine says no, or cannot go on."""

    exit_code = 3


class AgreementError(EngineError):
    """An agreement contradicts itself, is not canonical, or lacks a signature."""


class SealError(EngineError):
    """A sealed box or its manifest is not what it should be."""


class LogError(EngineError):
    """A node's log was cut, changed or reordered, or does not fit what it is compared with."""


class UnprovenError(LogError):
    """Nothing in the logs contradicts what was told, and yet they do not prove all of it."""

    exit_code = 5


class UnwrittenError(LogError):
    """A node cannot write what it must keep: its disk is full or read-only.

    That is the node's own failure and no refusal: the same request may be carried out later.
    """


class RefusedError(EngineError):
    """A node refuses what it was asked; the error names the node and gives its reason.

    >>> error = RefusedError("node 1", "the agreement has expired")
    >>> error.node, str(error)
    ('node 1', 'node 1 refuses: the agreement has expired')
    """

    def __init__(
        self, node: str, reason: str, *, kind: str = "", participants: Sequence[str] = ()
    ) -> None:
        self.node, self.reason = node, reason
        self.kind, self.participants = kind, tuple(participants)
        super().__init__(f"{node} refuses: {reason}")


class TrustError(EngineError):
    """A key, an agreement or a certificate is not the one that this machine trusts."""


class PlatformError(TacitError):
    """The platform cannot be reached, or refuses what it was asked."""

    exit_code = 4


class UnreachableError(PlatformError):
    """Nobody answers at the platform's address, or not in time."""


class UnreadableError(PlatformError):
    """What the platform answers is not understood here."""


class ServiceError(PlatformError):
    """The platform refuses; `status` and `code` are those of its HTTP API.

    >>> service_error("wrong_state")
    <class 'tacit.errors.WrongStateError'>
    """

    status = 422
    code = "refused"


class MalformedError(ServiceError):
    """The request is not one that the API takes."""

    status = 400
    code = "malformed"


class CredentialError(ServiceError):
    """No token or code, or one that is not valid."""

    status = 401
    code = "unauthorized"


class ForbiddenError(ServiceError):
    """The role may not do that."""

    status = 403
    code = "forbidden"


class NotThereError(ServiceError):
    """It does not exist, or is not for the asker to see; which of both, the platform keeps."""

    status = 404
    code = "not_found"


class WrongStateError(ServiceError):
    """The state of a run or of a series does not allow it now."""

    status = 409
    code = "wrong_state"


class InternalError(ServiceError):
    """The platform failed by its own fault."""

    status = 500
    code = "internal"


class OverloadedError(ServiceError):
    """The platform, or something behind it, cannot do that now; the same may work later.

    >>> TooManyError("too many requests; wait 3 s", retry_after=3).retry_after
    3
    """

    status = 503
    code = "overloaded"

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class TooManyError(OverloadedError):
    """Too many requests; `retry_after` says in how many seconds to retry."""

    status = 429
    code = "too_many"


class BusyError(OverloadedError):
    """The platform has too much to do."""

    code = "busy"


class NodesError(OverloadedError):
    """The nodes cannot be reached, or refuse."""

    code = "nodes"


class FencedError(TacitError):
    """Another process of the platform has taken over what this one worked on."""


class StorageError(OverloadedError):
    """The platform's database cannot be used right now."""

    code = "storage"


def service_error(code: str, /) -> type[ServiceError]:
    """The class of a code; `ServiceError` for one that is not known here."""
    waiting: list[type[ServiceError]] = [ServiceError]
    while waiting:
        each = waiting.pop()
        if each.code == code:
            return each
        waiting += each.__subclasses__()
    return ServiceError


class RunEndedError(TacitError):
    """A run that was waited for has ended without being finished."""

    exit_code = 6


class WaitingError(TacitError):
    """What was waited for did not happen in time."""

    exit_code = 7


class MpcError(TacitError):
    """A computation between the nodes did not come to its end."""

    exit_code = 3


class MaskReuseError(MpcError):
    """A mask was about to be used twice, which would show the secret under it."""


class PeerError(MpcError):
    """Something is wrong with a peer, which the error names.

    >>> error = PeerError("node 2", "sent nothing")
    >>> error.peer, str(error)
    ('node 2', 'node 2: sent nothing')
    """

    def __init__(self, peer: str, what: str) -> None:
        self.peer, self.what = peer, what
        super().__init__(f"{peer}: {what}")


class PeerLostError(PeerError):
    """The link to a peer is gone."""


class LinkClosedError(PeerLostError):
    """A link was closed in order: whoever closed it said so."""


class PeerTimeoutError(PeerError):
    """A peer stayed silent for longer than the limit."""


class VersionError(PeerError):
    """A peer speaks another version of the nodes' protocol; nothing was said to it."""


class FrameError(PeerError):
    """A peer sent something that is not a frame of ours, or one that is too large."""


class LoneRefusalError(PeerError):
    """One of four nodes refuses what the others take: that is its failure, and ends no run.

    It may lie, so only what two refuse is refused. `refusal` has its words.
    """

    def __init__(self, refusal: RefusedError) -> None:
        super().__init__(refusal.node, f"refuses, as the only one: {refusal.reason}")
        self.refusal = refusal


class AbortError(PeerError):
    """What a peer sent contradicts the protocol, so the evaluation ends without a result."""


class MismatchError(AbortError):
    """What one node sent is not what another vouches for: one of the two, or we, are wrong.

    In a signed attempt `evidence` has what the senders signed, which shows that we are not.
    """

    def __init__(
        self, sender: str, voucher: str, *, evidence: Sequence[bytes] = (), source: str = ""
    ) -> None:
        super().__init__(
            sender, f"sent something else than {voucher} vouches for; one lies{source}"
        )
        self.voucher, self.evidence = voucher, tuple(evidence)
