"""Prepare an objective's inputs: compare and check them with the peers, freeze them, draw the seed.

::

    compare    manifests of all owners, and what binds each node to its contribution
    show       where manifests differ: participants' signatures under them
    check      the range of every weight, on shares
    vote       in ballots, on all of this (`tacit.records.ballots`)
    freeze     on the disk of each node, once a quorum of votes is shown
    draw       1 round: the contributions

The nodes compare the hash of each owner's manifest, which names all components of its shares; each
has checked its own component against it. What is frozen is what was checked, and the same at all
honest nodes: one of four that tells others different things is found out before anything is frozen
or dropped (`Session.tell_alike`), and no ballot decides twice. An earlier version of what a
participant sealed is void, whoever has it or shows it. While inputs are not voted on, what a
participant has sealed differently under one version is dropped, and can be submitted again.

A node opens its contribution when it has seen the votes. So whoever sees one sees it when nothing
can be changed any more: stopping then ends the run, and gives no other draw, since no node ever
draws again. A node tells all contributions that it knows, so that none is had by some nodes only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tacit.agreement.sealing import CONTRIBUTION_BYTES, box_hash, read_manifest
from tacit.agreement.sizes import prepare_bytes
from tacit.equity import WithoutEquity
from tacit.errors import AbortError, LogError, RefusedError, SealError, UnwrittenError
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

if TYPE_CHECKING:
    from tacit.node.server import Node

Rows = dict[str, StoredInput]
_HASH = 32
_NOTHING = bytes(_HASH)
"""In place of the hash of a manifest that a node does not have."""
_SHOWN_BYTES = 4096
"""Room for a manifest that is shown with its signature: names of 200 characters fit."""
LARGE_CELLS = 1 << 14
"""Above so many weights, steps take more than a few milliseconds each."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """The result of comparing an objective's inputs with the peers."""

    value: str
    """What is frozen if all weights are in their range."""
    enough: bool
    """Whether all nodes have the latest rows of all owners, of four all but one."""
    complete: bool
    """Whether this node has."""
    twice: dict[str, list[str]]
    """Owners who have signed two manifests of the latest version, with the other one's nodes."""
    lacking: dict[str, list[str]]
    """Owners of whom some nodes do not have the latest rows, with these nodes."""


async def prepare(node: Node, state: AgreementState, request: Prepare) -> InputsChecked:
    """Compare manifests and check all ranges; a node that replies votes for what it names."""
    computation = NodeComputation(node, state, request, b"prepare", None)
    async with state.inputs.preparing:
        async with computation.begins():
            state.inputs.check_objective(request.objective)
        return await _prepare(state, request, computation)


async def _prepare(
    state: AgreementState, request: Prepare, computation: NodeComputation
) -> InputsChecked:
    objective = request.objective
    inputs = await in_thread(state.store.inputs, objective)
    outside: list[str] = []

    # A node that lacks rows takes part in the comparison, so that all learn who is missing.
    async def work() -> _Compared:
        compared = await _compare(session, state, objective, inputs)
        if compared.enough:
            if not compared.complete:
                # Inside: the others go on, and drop nothing unless this node takes part.
                raise _lacking(compared)
            weights = state.inputs.weights(objective)
            outside.extend(await _out_of_range(state, session, objective, weights))
        return compared

    async with computation.session(
        size=prepare_bytes(state.agreement, objective),
        away=_is_large(state),
        frozen=False,
        tells=True,
    ) as session:
        _check_all(session, state)
        compared = await computation.run(work)
    # After the session, when every node has its answer: an error inside would end it for all, and
    # some nodes would drop rows that others keep.
    _drop_twice(state, objective, inputs, compared)
    if not compared.enough:
        raise _lacking(compared)
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
        tells=True,
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
    session: Session, state: AgreementState, objective: int, inputs: Rows
) -> _Compared:
    """Compare the manifests with all peers, and exchange commitments. 1 or 2 `tell_alike`.

    All honest nodes come to the same, since they have heard the same.
    """
    owners = [each.participant for each in state.agreement.objectives[objective].owners]
    hashes = [_manifest_hash(inputs[who]) if who in inputs else _NOTHING for who in owners]
    told = await session.tell_alike(b"".join([state.inputs.commit(objective), *hashes]))
    words = {
        node: [data[at : at + _HASH] for at in range(0, len(data), _HASH)]
        for node, data in sorted(told.items())
    }
    commitments = [each[0].hex() for each in words.values()]
    state.inputs.check_commitments(objective, commitments)
    held = {
        who: {node: each[1 + at] for node, each in words.items()} for at, who in enumerate(owners)
    }
    latest = await _find_latest(session, state, objective, inputs, held)
    twice: dict[str, list[str]] = {}
    lacking: dict[str, list[str]] = {}
    for at, who in enumerate(owners):
        for node, manifest in held[who].items():
            if manifest not in latest[who]:
                lacking.setdefault(who, []).append(session.name_of(node))
            elif len(latest[who]) > 1 and manifest != hashes[at]:
                twice.setdefault(who, []).append(session.name_of(node))
    # One of four that has, or shows, earlier rows stops nobody: it gets the latest, or lies.
    most = session.nodes - (session.nodes == max(CLUSTER_SIZES))
    has_all = [
        all(held[who][node] in latest[who] for who in owners) for node in range(session.nodes)
    ]
    return _Compared(
        frozen_value(hashlib.sha256(b"".join(hashes)).hexdigest(), commitments),
        enough=not twice and sum(has_all) >= most,
        complete=has_all[session.me],
        twice=twice,
        lacking=lacking,
    )


async def _find_latest(
    session: Session,
    state: AgreementState,
    objective: int,
    inputs: Rows,
    held: Mapping[str, Mapping[int, bytes]],
) -> dict[str, set[bytes]]:
    """Return the latest manifest of each owner, by its hash: two if it signed both as one version.

    Where nodes have different ones, they show them with the participant's signature. An earlier one
    is void, and says nothing of its participant. A node that names a manifest which nobody can show
    is named, and nothing is dropped.
    """
    latest = {who: {*nodes.values()} - {_NOTHING} for who, nodes in held.items()}
    several = [who for who, manifests in latest.items() if len(manifests) > 1]
    if not several:
        return latest
    shown = await session.tell_alike(b"".join(_show(inputs.get(who)) for who in several))
    for at, who in enumerate(several):
        versions: dict[bytes, int] = {}
        for data in shown.values():
            versions |= _signed_version(state, objective, who, data, at)
        for node, manifest in held[who].items():
            if manifest not in {*versions, _NOTHING}:
                what = f"names rows of {who!r} that {who!r} has not signed; nothing was dropped"
                raise AbortError(session.name_of(node), what)
        newest = max(versions[each] for each in latest[who])
        latest[who] = {each for each in latest[who] if versions[each] == newest}
    return latest


def _manifest_hash(stored: StoredInput) -> bytes:
    return hashlib.sha256(stored.manifest).digest()


def _show(stored: StoredInput | None) -> bytes:
    """A manifest with its signature, in as many bytes as any."""
    if stored is None or len(stored.manifest) > _SHOWN_BYTES:
        return bytes(2 + _SHOWN_BYTES + SIGNATURE_BYTES)
    size = len(stored.manifest).to_bytes(2, "little")
    return size + stored.manifest.ljust(_SHOWN_BYTES, b"\0") + stored.signature


def _signed_version(
    state: AgreementState, objective: int, who: str, data: bytes, place: int
) -> dict[bytes, int]:
    """The hash and version of a manifest that was shown, if its participant has signed it."""
    size = 2 + _SHOWN_BYTES + SIGNATURE_BYTES
    part = data[place * size : (place + 1) * size]
    length = int.from_bytes(part[:2], "little")
    written, signature = part[2 : 2 + length], part[2 + _SHOWN_BYTES :]
    try:
        manifest = read_manifest(state.agreement, written, signature)
    except SealError:
        return {}
    if (manifest.participant, manifest.objective) != (who, objective):
        return {}
    return {hashlib.sha256(written).digest(): manifest.version}


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
    # What this node has voted for may be decided on, and frozen elsewhere.
    voted = state.has_voted(objective)
    if objective not in state.inputs.frozen and not voted and who in inputs:
        state.inputs.forget(objective, who, box_hash(inputs[who].box))
        manifest = _manifest_hash(inputs[who]).hex()
        state.store.log.append(InputDropped(objective, who, why, manifest))


def _drop_twice(state: AgreementState, objective: int, inputs: Rows, compared: _Compared) -> None:
    if not compared.twice:
        return
    for who in compared.twice:
        _drop(state, objective, inputs, who, "differs")
    peers = sorted({peer for names in compared.twice.values() for peer in names})
    raise refuse(
        f"the manifests here and at {' and '.join(peers)} differ for "
        f"{', '.join(map(repr, compared.twice))}; submit these rows again to all nodes",
        kind=RefusalKind.DIFFERS,
        participants=list(compared.twice),
    )


def _lacking(compared: _Compared) -> RefusedError:
    where = sorted({name for names in compared.lacking.values() for name in names})
    return refuse(
        f"the latest rows of {', '.join(map(repr, compared.lacking))} were not submitted yet to "
        f"{' and '.join(where)}",
        kind=RefusalKind.MISSING,
        participants=[*compared.lacking],
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
