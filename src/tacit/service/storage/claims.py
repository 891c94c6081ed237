"""Share out the work among the platform's processes: claims, leases and fences.

What is to be done for a run follows from its row. A worker claims a run for a piece of work, and
renews its lease for as long as it works. Each claim has a higher fence. Whatever a worker writes
for a run is written only while the run has the worker's fence, and nodes refuse lower fences than
they have seen. So of a worker that was suspended, and whose run another one has taken over since,
nothing is written and nothing asked.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    case,
    delete,
    exists,
    false,
    func,
    not_,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.orm import Session, aliased

from tacit.client import RunState
from tacit.errors import FencedError
from tacit.service.storage.models import Account, Member, PlatformWorker, Run, StoredBoxes

LEASE_SECONDS = 6.0
GRACE_SECONDS = 0.4
"""So long after its deadline a run is answered by whoever sees it, from what is stored."""
FORGET_WORKER_SECONDS = 86400.0
OVER: tuple[RunState, ...] = ("finished", "failed", "cancelled")
CLAIMS_KEY = 0x74616369
"""PostgreSQL's locks have numbers; this one is for claims."""
Work = Literal["draft", "hand over", "run", "take up", "end"]


@dataclass(frozen=True)
class RunClaim:
    """A run that this process has, and for what."""

    run_id: str
    cluster: str
    work: Work
    fence: int


def database_time(session: Session, /) -> float:
    """The time by the database's clock, which all of the platform's processes share."""
    if session.get_bind().dialect.name != "postgresql":
        return time.time()
    return float(session.scalar(text("SELECT extract(epoch FROM clock_timestamp())")) or 0.0)


def claim_work(
    session: Session,
    /,
    owner: str,
    slots: Mapping[str, int],
    *,
    held: Collection[str] = (),
    takes_over: bool = True,
) -> RunClaim | None:
    """Claim the next run that something is to be done for, and say what; None if there is none.

    `slots` has the clusters that this process knows, and `held` the runs that it knows to have: the
    confirmation of a claim may have been lost. A process that does not take over leaves runs whose
    leases have expired: all expire while the database is away.
    """
    if session.get_bind().dialect.name == "postgresql":
        # One claim at a time: of two that count the runs of a cluster side by side, both would see
        # its last free slot. SQLite has one writer anyway.
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": CLAIMS_KEY})
    now = database_time(session)
    nobodys, others = Run.owner.is_(None), _is_others(owner, held)
    is_expired = and_(others, Run.lease_until < now) if takes_over else false()
    # Also where it was given back with a pause.
    is_late = and_(others if takes_over else nobodys, Run.deadline_at < now - GRACE_SECONDS)
    is_free = or_(nobodys, is_expired)
    is_due = or_(Run.look_at.is_(None), Run.look_at <= now)
    known = select(Run.id, Run.cluster).where(Run.work_left, Run.cluster.in_(list(slots)))
    # A row that somebody holds is passed over: a process that hangs in the middle of a transaction
    # must keep nobody from claiming others.
    known = known.order_by(Run.created).limit(1).with_for_update(of=Run, skip_locked=True)
    is_left = or_(and_(is_free, is_due), is_late)
    queries: list[tuple[Work, Select[str, str | None]]] = [
        ("take up", known.where(Run.state == "running", is_left)),
        ("end", known.where(is_free, is_due, Run.state.in_(OVER))),
        ("hand over", known.where(is_free, is_due, Run.state == "agreed", _has_news())),
        ("draft", known.where(is_free, is_due, Run.state == "invited", _is_to_be_drafted())),
    ]
    for work, query in queries:
        if (row := session.execute(query).first()) is not None:
            return _claimed(session, owner, work, row.id, row.cluster or "", now)
    for cluster, most in slots.items():
        if _taken(session, cluster, now) < most:
            waiting = _next_to_run(cluster).where(is_free, is_due)
            if (run_id := session.scalar(waiting)) is not None:
                return _claimed(session, owner, "run", run_id, cluster, now)
    return None


def _is_others(owner: str, held: Collection[str]) -> ColumnElement[bool]:
    """Nobody has it, or another process, or this one, which does not know it."""
    return or_(Run.owner.is_(None), Run.owner != owner, Run.id.not_in(sorted(held)))


def next_late(session: Session, owner: str, held: Collection[str], /) -> float | None:
    """In how many seconds the next run is late that this process does not have."""
    query = select(func.min(Run.deadline_at)).where(
        Run.work_left, Run.state == "running", _is_others(owner, held)
    )
    deadline = session.scalar(query)
    return None if deadline is None else deadline + GRACE_SECONDS - database_time(session)


def _claimed(
    session: Session, owner: str, work: Work, run_id: str, cluster: str, now: float
) -> RunClaim:
    # Never lower than the time: a database that was restored knows an earlier fence than the nodes.
    least = int(now * 1000)
    claimed = update(Run).where(Run.id == run_id)
    claimed = claimed.values(
        owner=owner,
        lease_until=now + LEASE_SECONDS,
        # Set until it is given back: if this process dies in between, somebody has to look again.
        look_at=now,
        fence=case((Run.fence < least, least), else_=Run.fence + 1),
    )
    if work == "run":
        claimed = claimed.values(slot_at=now)
    session.execute(claimed)
    fence = session.scalar(select(Run.fence).where(Run.id == run_id))
    return RunClaim(run_id, cluster, work, fence or 0)


def _is_to_be_drafted() -> ColumnElement[bool]:
    """All members have joined, and there is no agreement yet."""
    waited_for = exists().where(
        Member.run == Run.id, Account.name == Member.participant, Account.signing_key.is_(None)
    )
    return and_(Run.agreement_hash.is_(None), not_(waited_for))


def _has_news() -> ColumnElement[bool]:
    """The nodes have no agreement yet, or lack rows, or an attempt did not come to its end."""
    new_rows = exists().where(StoredBoxes.run == Run.id, StoredBoxes.state == "waiting")
    return or_(not_(Run.at_nodes), new_rows, Run.look_at.is_not(None))


def _taken(session: Session, cluster: str, now: float) -> int:
    has_slot = or_(
        Run.state == "running",
        and_(Run.state == "submitted", Run.owner.is_not(None), Run.lease_until >= now),
    )
    query = select(func.count()).where(Run.work_left, Run.cluster == cluster, has_slot)
    return session.scalar(query) or 0


def _next_to_run(cluster: str) -> Select[Any]:
    """First come, first served, but no operator waits behind all runs of another.

    A slot goes to the operator who got one longest ago, or never, and of its runs to the first.
    """
    other = aliased(Run)
    turn = (
        select(func.coalesce(func.max(other.slot_at), 0.0))
        .where(other.cluster == cluster, other.created_by == Run.created_by)
        .correlate(Run)
        .scalar_subquery()
    )
    query = select(Run.id).where(Run.work_left, Run.cluster == cluster, Run.state == "submitted")
    return query.order_by(turn, Run.created).limit(1).with_for_update(of=Run, skip_locked=True)


def check_fence(session: Session, claim: RunClaim, /) -> None:
    """Raise `FencedError` unless this process still has the run, which stays so until the end."""
    query = select(Run.fence).where(Run.id == claim.run_id).with_for_update()
    if session.scalar(query) != claim.fence:
        raise FencedError(f"another process has taken over {claim.run_id}; leave it to that one")


def fences_held(session: Session, fences: Mapping[str, int], /) -> set[str]:
    """Of these runs those that still have the fence, which stays so until the transaction's end."""
    query = select(Run.id, Run.fence).where(Run.id.in_(sorted(fences))).order_by(Run.id)
    rows = session.execute(query.with_for_update())
    return {row.id for row in rows if row.fence == fences[row.id]}


def renew_leases(session: Session, owner: str, fences: Mapping[str, int], /) -> set[str]:
    """Renew the leases of a process on its runs; return those that it still has."""
    now = database_time(session)
    seen = session.get(PlatformWorker, owner)
    if seen is None:
        session.add(PlatformWorker(name=owner, since=now, seen=now))
    else:
        seen.seen = now
    session.execute(delete(PlatformWorker).where(PlatformWorker.seen < now - FORGET_WORKER_SECONDS))
    held = fences_held(session, fences)
    renewed = update(Run).where(Run.id.in_(sorted(held)))
    session.execute(renewed.values(lease_until=now + LEASE_SECONDS))
    return held


def release(session: Session, claim: RunClaim, /, *, again_in: float | None = None) -> None:
    """Give a run back; it is looked at again after so long, or as soon as there is work for it."""
    check_fence(session, claim)
    at = None if again_in is None else database_time(session) + again_in
    released = update(Run).where(Run.id == claim.run_id)
    session.execute(released.values(owner=None, lease_until=None, look_at=at))


def release_all(session: Session, owner: str | None = None, /) -> None:
    """Give back all runs of a process that ends, or of all: of those before the only one there is.

    Higher fences keep what they still do from counting.
    """
    query = update(Run).where(Run.owner.is_not(None) if owner is None else Run.owner == owner)
    session.execute(query.values(owner=None, lease_until=None, fence=Run.fence + 1))


def workers_seen(session: Session, /) -> list[PlatformWorker]:
    """The processes that execute runs and are there."""
    since = database_time(session) - LEASE_SECONDS
    query = select(PlatformWorker).where(PlatformWorker.seen >= since)
    return list(session.scalars(query.order_by(PlatformWorker.name)))


def loads(session: Session, /) -> dict[str, tuple[int, int]]:
    """Per cluster, how many runs have a slot and how many wait for one."""
    now = database_time(session)
    running = and_(Run.owner.is_not(None), Run.lease_until >= now)
    query = select(Run.cluster, Run.state, running.label("has_owner")).where(
        Run.work_left, Run.state.in_(("submitted", "running"))
    )
    found: dict[str, tuple[int, int]] = {}
    for row in session.execute(query):
        taken, waiting = found.get(row.cluster, (0, 0))
        has_slot = row.state == "running" or bool(row.has_owner)
        found[row.cluster] = (taken + has_slot, waiting + (not has_slot))
    return found
