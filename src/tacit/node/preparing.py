"""Prepare an objective's inputs: compare and check them with the peers, freeze them, draw the seed.

::

    compare    1 round: manifests of all owners, and what binds each node to its contribution
    echo       1 round, of four nodes: what each has heard, with the signatures of whoever told it
    show       1 round, of four nodes, where manifests differ: participants' signatures under them
    check      the range of every weight, on shares
    vote       in ballots, on all of this (`tacit.records.ballots`)
    freeze     on the disk of each node, once a quorum of votes is shown
    draw       1 round: the contributions

The nodes compare the hash of each owner's manifest, which names all components of its shares; each
has checked its own component against it. What is frozen is what was checked, and the same at all
honest nodes: one of four that tells others different things is found out by the echo, before
anything is frozen or dropped, and no ballot decides twice. While inputs are not voted on, whatever
participants have sealed differently for the nodes is dropped, and can be submitted again.

A node opens its contribution when it has seen the votes. So whoever sees one sees it when nothing
can be changed any more: stopping then ends the run, and gives no other draw, since no node ever
draws again. A node tells all contributions that it knows, so that none is had by some nodes only.
"""

from __future__ import annotations

import hashlib
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.sealing import CONTRIBUTION_BYTES, box_hash, read_manifest
from tacit.agreement.sizes import prepare_bytes
from tacit.equity import WithoutEquity
from tacit.errors import AbortError, LogError, MismatchError, SealError, UnwrittenError
from tacit.mpc import (
    CLUSTER_SIZES,
    SIGNATURE_BYTES,
    ArithmeticShare,
    Session,
    check_ranges,
    concatenate,
)
from tacit.node.agreement_state import AgreementState
from tacit.node.computation import NodeComputation
from tacit.node.equity import hooks_of
from tacit.node.inputs import Inputs, frozen_value, read_frozen_value
from tacit.node.policy import refuse
from tacit.node.store import StoredInput
from tacit.node.threads import in_thread
from tacit.node.voting import decided_votes
from tacit.records.ballots import Subject, SubjectKind
from tacit.records.events import Fault, InputDropped
from tacit.records.messages import Computed, Freeze, InputsChecked, Prepare, RefusalKind
from tacit.records.told_inputs import ToldInputs

if TYPE_CHECKING:
    from tacit.node.server import Node

Rows = dict[str, StoredInput]
_HASH = 32
_SHOWN_BYTES = 4096
"""Room for a manifest that is shown with its signature: names of 200 characters fit."""
LARGE_CELLS = 1 << 14
"""Above so many weights, steps take more than a few milliseconds each."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What one node told: its commitment, and the hash of each owner's manifest, zeros for none."""

    commitment: bytes
    manifests: tuple[bytes, ...]
    signature: bytes = b""

    def signed(self, node: int, request: Prepare) -> ToldInputs:
        digest = hashlib.sha256(b"".join(self.manifests)).hexdigest()
        return ToldInputs(
            node,
            request.objective,
            request.epoch,
            request.attempt,
            self.commitment.hex(),
            digest,
        )

    def encode(self) -> bytes:
        return b"".join([self.commitment, *self.manifests, self.signature])

    @classmethod
    def decode(cls, data: bytes, /) -> _Told:
        words = [data[at : at + _HASH] for at in range(0, len(data) - SIGNATURE_BYTES, _HASH)]
        return cls(words[0], tuple(words[1:]), data[-SIGNATURE_BYTES:])


@dataclass(frozen=True, slots=True)
class _Compared:
    """The result of comparing an objective's inputs with the peers."""

    value: str
    """What is frozen if all weights are in their range."""
    different: dict[str, list[str]] = field(default_factory=dict)
    """Owners whose manifests are not the same everywhere, with the nodes where they differ."""
    missing: dict[str, list[str]] = field(default_factory=dict)
    """Of four nodes: owners of whom some nodes have no rows, with these nodes."""

    @property
    def is_alike(self) -> bool:
        return not self.different and not self.missing


async def prepare(node: Node, state: AgreementState, request: Prepare) -> InputsChecked:
    """Compare manifests and check all ranges; a node that replies votes for what it names."""
    computation = NodeComputation(node, state, request, b"prepare", None)
    async with state.inputs.preparing:
        async with computation.begins():
            state.inputs.check_objective(request.objective)
        return await _prepare(node, state, request, computation)


async def _prepare(
    node: Node, state: AgreementState, request: Prepare, computation: NodeComputation
) -> InputsChecked:
    objective = request.objective
    # Read once: these are compared and checked, whatever is submitted meanwhile.
    inputs = await in_thread(state.store.inputs, objective)
    missing = state.inputs.missing(objective)
    outside: list[str] = []
    signing = node.own_keys.signing(state.agreement)

    # A node that lacks rows takes part in the comparison, so that all learn who is missing.
    async def work() -> _Compared:
        compared = await _compare(session, state, request, inputs, signing)
        if compared.is_alike and not missing:
            weights = state.inputs.weights(objective)
            outside.extend(await _out_of_range(state, session, objective, weights))
        return compared

    async with computation.session(
        size=prepare_bytes(state.agreement, objective),
        away=_is_large(state),
        frozen=False,
    ) as session:
        _check_all(session, state)
        compared = await computation.run(work)
    # After the session, when every node has its answer: an error inside would end it for all, and
    # some nodes would drop rows that others keep.
    _drop_different(state, objective, inputs, compared)
    _check_missing(compared, missing)
    _drop_outside(state, objective, inputs, outside)
    # Only now: this node votes for what all have checked, and for nothing else.
    state.inputs.accept(objective, compared.value)
    return computation.reply(InputsChecked, value=compared.value)


def _is_large(state: AgreementState) -> bool:
    problem = state.agreement.problem
    return problem.rows * problem.columns > LARGE_CELLS


def _check_all(session: Session, state: AgreementState) -> None:
    if session.nodes != len(state.agreement.nodes):
        raise refuse("inputs are prepared by all nodes together; wait until all are there")


async def freeze(node: Node, state: AgreementState, request: Freeze) -> Computed:
    """Freeze what the votes have decided on, between the two hooks; then draw the seed."""
    computation = NodeComputation(node, state, request, b"freeze", None)
    async with AsyncExitStack() as stack:
        # Locks in this order everywhere: first the agreement's, then the book's, which many runs of
        # a series share.
        await stack.enter_async_context(state.inputs.preparing)
        async with computation.begins():
            hooks = hooks_of(node, state)
        await stack.enter_async_context(hooks.turn)
        return await _freeze(node, state, request, computation, hooks)


async def _freeze(
    node: Node,
    state: AgreementState,
    request: Freeze,
    computation: NodeComputation,
    hooks: WithoutEquity,
) -> Computed:
    objective = request.objective
    async with computation.begins():
        state.inputs.check_objective(objective)
        subject = Subject(SubjectKind.INPUTS, objective)
        value, votes = await decided_votes(node, state, subject, request.votes)
        inputs = await in_thread(state.store.inputs, objective)
        _check_decided_rows(state, objective, inputs, value)
    async with computation.session(
        size=prepare_bytes(state.agreement, objective),
        away=_is_large(state),
        agreed=value.encode(),
        frozen=False,
    ) as session:
        _check_all(session, state)
        await hooks.before_freeze(session)
        commitments = read_frozen_value(value)[1]
        state.inputs.freeze(objective, inputs, commitments=commitments, votes=votes)
        await draw_seed(session, state.inputs, objective)
        stated = partial(state.inputs.weights, objective)
        name = f"{request.epoch}:{request.attempt}"
        await computation.run(partial(hooks.before_search, session, stated, attempt=name))
    derivation = state.derivation
    if derivation is not None and derivation.is_frozen:
        # Compiling takes seconds. No deadline runs yet.
        await derivation.get_ready()
    return computation.reply(Computed)


def _check_decided_rows(state: AgreementState, objective: int, inputs: Rows, value: str) -> None:
    """Refuse to freeze while other rows are here than were decided on; they can be had again."""
    if state.inputs.is_here(objective, value):
        return
    # Which of them are other ones is not known: all were once the same at a quorum of nodes.
    owners = [each.participant for each in state.agreement.objectives[objective].owners]
    for who in owners:
        _drop(state, objective, inputs, who, "differs")
    raise refuse(
        "other rows are here than those that the nodes have decided to freeze; submit them again",
        kind=RefusalKind.MISSING,
        participants=owners,
    )


async def _compare(
    session: Session,
    state: AgreementState,
    request: Prepare,
    inputs: Rows,
    signing: Ed25519PrivateKey,
) -> _Compared:
    """Compare the manifests with all peers, and exchange commitments. 1 to 3 rounds."""
    objective, agreement = request.objective, state.agreement
    owners = [each.participant for each in agreement.objectives[objective].owners]
    hashes = tuple(
        hashlib.sha256(inputs[who].manifest).digest() if who in inputs else bytes(_HASH)
        for who in owners
    )
    ours = _Told(state.inputs.commit(objective), hashes)
    ours = _Told(*_parts(ours), ours.signed(session.me, request).sign(signing, state.hash))
    heard = {session.me: ours}
    for peer, data in (await session.tell(ours.encode())).items():
        heard[peer] = _Told.decode(data)
        if not heard[peer].signed(peer, request).is_signed(agreement, heard[peer].signature):
            name = session.name_of(peer)
            raise AbortError(name, "told of its inputs without its valid signature under that")
    nodes = range(session.nodes)
    commitments = [heard[node].commitment.hex() for node in nodes]
    state.inputs.check_commitments(objective, commitments)
    digest = ours.signed(session.me, request).manifests
    value = frozen_value(digest, commitments)
    if session.nodes == max(CLUSTER_SIZES):
        await _echo(session, state, request, heard)
        return await _judge(session, state, objective, inputs, _Versions(owners, heard), value)
    different: dict[str, list[str]] = {}
    for peer in session.peers:
        for who, here, there in zip(owners, hashes, heard[peer].manifests, strict=True):
            if here != there:
                different.setdefault(who, []).append(session.name_of(peer))
    return _Compared(value, different)


def _parts(told: _Told) -> tuple[bytes, tuple[bytes, ...]]:
    return told.commitment, told.manifests


async def _echo(
    session: Session, state: AgreementState, request: Prepare, heard: dict[int, _Told]
) -> None:
    """Pass on to all what each node told, with its signature; raise where one told two things.

    Whatever an honest node has heard, all honest ones hear of. So they go on with the same, or none
    of them does. 1 round.
    """
    size = 2 * _HASH + SIGNATURE_BYTES
    echo = b"".join(
        told.commitment + bytes.fromhex(told.signed(node, request).manifests) + told.signature
        for node, told in sorted(heard.items())
    )
    for peer, data in (await session.tell(echo)).items():
        for node, told in sorted(heard.items()):
            ours, passed = told.signed(node, request), data[node * size : (node + 1) * size]
            theirs = ToldInputs(
                node,
                request.objective,
                request.epoch,
                request.attempt,
                passed[:_HASH].hex(),
                passed[_HASH : 2 * _HASH].hex(),
            )
            if theirs == ours:
                continue
            signature = passed[2 * _HASH :]
            if not theirs.is_signed(state.agreement, signature):
                what = f"passes on what {session.name_of(node)} did not sign"
                raise AbortError(session.name_of(peer), what)
            evidence = [ours.encode() + told.signature, theirs.encode() + signature]
            name = session.name_of(node)
            raise MismatchError(name, session.name_of(peer), evidence=evidence)


class _Versions:
    """Which nodes have which manifest of each owner, by its hash."""

    def __init__(self, owners: list[str], heard: dict[int, _Told]) -> None:
        self.by_owner: dict[str, dict[bytes, list[int]]] = {who: {} for who in owners}
        self.without: dict[str, list[int]] = {}
        for node, told in sorted(heard.items()):
            for who, manifest in zip(owners, told.manifests, strict=True):
                if any(manifest):
                    self.by_owner[who].setdefault(manifest, []).append(node)
                else:
                    self.without.setdefault(who, []).append(node)

    @property
    def several(self) -> list[str]:
        """The owners of whom nodes name different manifests."""
        return [who for who, versions in self.by_owner.items() if len(versions) > 1]


async def _judge(
    session: Session,
    state: AgreementState,
    objective: int,
    inputs: Rows,
    versions: _Versions,
    value: str,
) -> _Compared:
    """Find who has sealed differently for the nodes, and who has no rows. 1 round if any differ.

    All honest nodes come to the same: they have heard the same. A node that names a manifest which
    its participant has not signed is named, and nothing is dropped.
    """
    missing = {
        who: [session.name_of(node) for node in nodes] for who, nodes in versions.without.items()
    }
    several = versions.several
    if not several:
        return _Compared(value, missing=missing)
    shown = b"".join(_show(inputs.get(who)) for who in several)
    heard = {session.me: shown, **await session.tell(shown)}
    different: dict[str, list[str]] = {}
    for at, who in enumerate(several):
        signed = {
            manifest
            for data in heard.values()
            if (manifest := _signed_manifest(state, objective, who, data, at)) is not None
        }
        for manifest, nodes in versions.by_owner[who].items():
            if manifest not in signed:
                what = f"names rows of {who!r} that {who!r} has not signed; nothing was dropped"
                raise AbortError(session.name_of(nodes[0]), what)
            if session.me not in nodes:
                different.setdefault(who, []).extend(map(session.name_of, nodes))
    return _Compared(value, different, missing)


def _show(stored: StoredInput | None) -> bytes:
    """A manifest with its signature, in as many bytes as any."""
    if stored is None or len(stored.manifest) > _SHOWN_BYTES:
        return bytes(2 + _SHOWN_BYTES + SIGNATURE_BYTES)
    size = len(stored.manifest).to_bytes(2, "little")
    return size + stored.manifest.ljust(_SHOWN_BYTES, b"\0") + stored.signature


def _signed_manifest(
    state: AgreementState, objective: int, who: str, data: bytes, place: int
) -> bytes | None:
    """The hash of a manifest that was shown, if it is this participant's and signed by it."""
    size = 2 + _SHOWN_BYTES + SIGNATURE_BYTES
    part = data[place * size : (place + 1) * size]
    length = int.from_bytes(part[:2], "little")
    written, signature = part[2 : 2 + length], part[2 + _SHOWN_BYTES :]
    try:
        manifest = read_manifest(state.agreement, written, signature)
    except SealError:
        return None
    if (manifest.participant, manifest.objective) != (who, objective):
        return None
    return hashlib.sha256(written).digest()


async def _out_of_range(
    state: AgreementState, session: Session, objective: int, weights: ArithmeticShare
) -> list[str]:
    """The participants with a weight out of range; nobody learns which weight it is."""
    terms = state.agreement.objectives[objective]
    parts = [weights[owner.rows] for owner in terms.owners]
    flat = [share.map(lambda part: part.reshape(-1)) for share in parts]
    counts = [len(part) for part in flat]
    bounds = [terms.weight_bound] * len(counts)
    fits = await check_ranges(session, concatenate(flat), counts, bounds, label="range")
    return [owner.participant for owner, ok in zip(terms.owners, fits, strict=True) if not ok]


def _drop(state: AgreementState, objective: int, inputs: Rows, who: str, why: Fault) -> None:
    # What this node has voted for may be decided on, and frozen elsewhere. A status is for nothing,
    # and a platform asks for one where any node says that something is frozen.
    own = state.votes.of(Subject(SubjectKind.INPUTS, objective))
    voted = own.willing_to or own.lock
    if objective not in state.inputs.frozen and not voted and who in inputs:
        state.inputs.forget(objective, who, box_hash(inputs[who].box))
        state.store.log.append(InputDropped(objective, who, why))


def _drop_different(
    state: AgreementState, objective: int, inputs: Rows, compared: _Compared
) -> None:
    if not compared.different:
        return
    for who in compared.different:
        _drop(state, objective, inputs, who, "differs")
    peers = sorted({peer for names in compared.different.values() for peer in names})
    raise refuse(
        f"the manifests here and at {' and '.join(peers)} differ for "
        f"{', '.join(map(repr, compared.different))}; submit these rows again to all nodes",
        kind=RefusalKind.DIFFERS,
        participants=list(compared.different),
    )


def _check_missing(compared: _Compared, missing: list[str]) -> None:
    participants = [*compared.missing] or missing
    if not participants:
        return
    where = sorted({name for names in compared.missing.values() for name in names})
    at = f" to {' and '.join(where)}" if where else ""
    raise refuse(
        f"{', '.join(map(repr, participants))} has not submitted its rows yet{at}",
        kind=RefusalKind.MISSING,
        participants=participants,
    )


def _drop_outside(state: AgreementState, objective: int, inputs: Rows, outside: list[str]) -> None:
    terms = state.agreement.objectives[objective]
    for who in outside:
        _drop(state, objective, inputs, who, "out of range")
    if outside:
        raise refuse(
            f"a weight of {', '.join(map(repr, outside))} for {terms.name!r} is outside "
            f"0..{terms.weight_bound}; let it seal its rows again",
            kind=RefusalKind.OUTSIDE,
            participants=outside,
        )


async def draw_seed(session: Session, inputs: Inputs, objective: int, /) -> None:
    """Open all contributions, once this node has frozen its inputs. 1 round, 32 bytes per node.

    A node tells those of others, too, that it knows from a draw before: so none is had by some
    nodes only.
    """
    known, commitments = inputs.known_contributions(objective), inputs.frozen[objective].commitments
    nodes = range(session.nodes)
    message = b"".join(known.get(node, bytes(CONTRIBUTION_BYTES)) for node in nodes)
    for data in (await session.tell(message)).values():
        for node in nodes:
            told = data[node * CONTRIBUTION_BYTES : (node + 1) * CONTRIBUTION_BYTES]
            if inputs.commitment_of(objective, node, told).hex() == commitments[node]:
                known.setdefault(node, told)
    missing = [node for node in nodes if node not in known]
    if missing:
        what = "opened another contribution to the seed than it had committed itself to"
        raise AbortError(session.name_of(missing[0]), what)
    try:
        inputs.draw(objective, [known[node] for node in nodes])
    except UnwrittenError:
        raise  # a full disk, which may have room again
    except LogError as error:
        raise refuse(str(error)) from None
