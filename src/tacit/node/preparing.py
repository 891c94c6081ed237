"""Prepare an objective's inputs: compare and check them with the peers, freeze them, draw the seed.

::

    compare    1 round: manifests of all owners, and what binds each node to its contribution
    check      the range of every weight, on shares
    freeze     on the disk of each node
    draw       2 rounds: that all froze the same, then the contributions

The nodes compare the hash of each owner's manifest, which names all components of its shares; each
has checked its own component against it. What is frozen is what was checked. A node that froze
before, when another missed the last message, takes part again, so that all come to the same end.
While inputs are not frozen, whatever differs between nodes is dropped and can be submitted again.

A node opens its contribution only when it has heard that all have frozen the same. So whoever sees
one sees it when nothing can be changed any more: stopping then ends the run, and gives no other
draw, since no node ever draws again.
"""

from __future__ import annotations

import hashlib
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tacit.agreement.sealing import box_hash
from tacit.agreement.sizes import prepare_bytes
from tacit.equity import WithoutEquity
from tacit.errors import LogError
from tacit.mpc import ArithmeticShare, Session, check_ranges, concatenate
from tacit.node.agreement_state import AgreementState
from tacit.node.computation import NodeComputation
from tacit.node.equity import hooks_of
from tacit.node.inputs import Inputs
from tacit.node.policy import refuse
from tacit.node.store import StoredInput
from tacit.node.threads import in_thread
from tacit.records.events import Fault, InputDropped
from tacit.records.messages import Computed, Prepare, RefusalKind

if TYPE_CHECKING:
    from tacit.node.server import Node

Rows = dict[str, StoredInput]
_HASH = 32
LARGE_CELLS = 1 << 14
"""Above so many weights, steps take more than a few milliseconds each."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """The result of comparing an objective's inputs with the peers."""

    different: dict[str, list[str]]
    """Owners whose manifests are not the same everywhere, with the nodes where they differ."""
    commitments: list[str]
    """The hashes that bind the nodes to their contributions to the seed."""


async def prepare(node: Node, state: AgreementState, request: Prepare) -> Computed:
    """Compare manifests, check all ranges, and freeze the inputs between the two hooks."""
    computation = NodeComputation(node, state, request, b"prepare", None)
    async with AsyncExitStack() as stack:
        # Locks in this order everywhere: first the agreement's, then the book's, which many runs of
        # a series share.
        await stack.enter_async_context(state.inputs.preparing)
        async with computation.begins():
            hooks = hooks_of(node, state)
        await stack.enter_async_context(hooks.turn)
        return await _prepare(state, request, computation, hooks)


async def _prepare(
    state: AgreementState, request: Prepare, computation: NodeComputation, hooks: WithoutEquity
) -> Computed:
    objective = request.objective
    async with computation.begins():
        state.inputs.check_objective(objective)
    # Read once: these are compared, checked and frozen, whatever is submitted meanwhile.
    inputs = await in_thread(state.store.inputs, objective)
    missing = state.inputs.missing(objective)
    outside: list[str] = []

    # A node that lacks rows takes part in the comparison, so that all learn who is missing.
    async def work() -> _Compared:
        compared = await _compare(session, state, objective, inputs)
        if not compared.different and not missing:
            weights = state.inputs.weights(objective)
            outside.extend(await _out_of_range(state, session, objective, weights))
        return compared

    problem = state.agreement.problem
    async with computation.session(
        size=prepare_bytes(state.agreement, objective),
        away=problem.rows * problem.columns > LARGE_CELLS,
        frozen=False,
    ) as session:
        if session.nodes != len(state.agreement.nodes):
            raise refuse("inputs are prepared by all nodes together; wait until all are there")
        compared = await computation.run(work)
        if not compared.different and not missing and not outside:
            await hooks.before_freeze(session)
            # Here on the event loop and not in `work`: the log has one writer.
            commitments = compared.commitments
            state.inputs.freeze(objective, inputs, commitments=commitments)
            await draw_seed(session, state.inputs, objective)
            stated = partial(state.inputs.weights, objective)
            name = f"{request.epoch}:{request.attempt}"
            await computation.run(partial(hooks.before_search, session, stated, attempt=name))
    # After the session, when every node has its answer: an error inside would end it for all, and
    # some nodes would drop rows that others keep.
    _drop_different(state, objective, inputs, compared)
    if missing:
        raise refuse(
            f"{', '.join(map(repr, missing))} has not submitted its rows yet",
            kind=RefusalKind.MISSING,
            participants=missing,
        )
    _drop_outside(state, objective, inputs, outside)
    derivation = state.derivation
    if derivation is not None and derivation.is_frozen:
        # Compiling takes seconds. No deadline runs yet.
        await derivation.get_ready()
    return computation.reply(Computed)


async def _compare(
    session: Session, state: AgreementState, objective: int, inputs: Rows
) -> _Compared:
    """Compare the manifests with all peers, and exchange commitments. 1 round."""
    owners = [each.participant for each in state.agreement.objectives[objective].owners]
    ours = [
        hashlib.sha256(inputs[who].manifest).digest() if who in inputs else bytes(_HASH)
        for who in owners
    ]
    commitments = {session.me: state.inputs.commit(objective).hex()}
    message = b"".join([bytes.fromhex(commitments[session.me]), *ours])
    different: dict[str, list[str]] = {}
    for peer, data in (await session.tell(message)).items():
        theirs = [data[at : at + _HASH] for at in range(0, len(data), _HASH)]
        commitments[peer] = theirs[0].hex()
        for who, here, there in zip(owners, ours, theirs[1:], strict=True):
            if here != there:
                different.setdefault(who, []).append(session.name_of(peer))
    return _Compared(different, [commitments[node] for node in range(session.nodes)])


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
    if objective not in state.inputs.frozen and who in inputs:
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
    """Open all contributions, once all nodes have frozen the same. 2 rounds, 64 bytes to each peer.

    A node tells what it has frozen on its disk: the manifests, and what all nodes are bound to.
    """
    frozen = inputs.frozen[objective]
    text = "\n".join([frozen.manifests, *frozen.commitments])
    here = hashlib.sha256(b"tacit frozen/1\n" + text.encode()).digest()
    for peer, there in (await session.tell(here)).items():
        if there != here:
            raise refuse(f"{session.name_of(peer)} has frozen other inputs; make a new agreement")
    opened = await session.tell(inputs.contribution(objective))
    opened[session.me] = inputs.contribution(objective)
    try:
        inputs.draw(objective, [opened[node] for node in range(session.nodes)])
    except LogError as error:
        raise refuse(str(error)) from None
