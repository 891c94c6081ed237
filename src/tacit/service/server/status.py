"""Describe a platform from its host: runs, what is due, what expires, which nodes answer.

It reads the database and the files of `service.toml`, and asks the nodes itself. So it says what is
wrong also while the platform is down, which is when somebody asks.
"""

from __future__ import annotations

import asyncio
import http.client
import ssl
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

import tacit
from tacit.agreement import read_agreement
from tacit.client import ClusterView, RunState
from tacit.errors import AgreementError, InputError
from tacit.files import disk_warnings
from tacit.identity import (
    expires,
    expiry_warnings,
    load_cluster_config,
    parse_address,
    read_certificate,
    rotated_by_platform,
)
from tacit.service.execution.cluster_links import CLOCK_TOLERANCE_SECONDS, WARN_PART, ClusterLinks
from tacit.service.server.settings import Settings, rotated_website
from tacit.service.storage import (
    AccessToken,
    Account,
    Database,
    Member,
    Notice,
    Run,
    StandingSeries,
    workers_seen,
)
from tacit.service.storage.database import SQLITE

HEALTH_SECONDS = 5.0
LATE_SECONDS = 5.0
"""So long after its deadline a run without an answer is one that nobody answers any more."""
OVERDUE_SECONDS = 60.0
"""The same of a series whose next run has not begun."""
UNTRIED_SECONDS = 600.0
"""The same of a notice that nobody has tried to deliver."""
RECENT_SECONDS = 86_400.0
"""For so long a failed run needs attention."""
SOON_SECONDS = 86_400.0
"""What expires so soon needs attention: agreements that are not carried out."""
TOKEN_SECONDS = 7 * 86_400.0
"""The same of the last token of an operator."""
OPEN: tuple[RunState, ...] = ("running", "submitted", "agreed", "invited", "interrupted")


class OpenRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that somebody has to do something for."""

    id: str
    name: str
    state: RunState
    cluster: str | None
    waits_for: str
    owner: str | None
    """The worker that has it."""
    due: float | None
    """When it has to be answered, in seconds since 1970, once it runs."""
    expires: float | None
    """When its agreement does."""


class DueSeries(msgspec.Struct, frozen=True):
    """A series with a schedule."""

    id: str
    name: str
    next_at: float


class ServiceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A platform as its operator wants to see it."""

    url: str
    version: str
    database: str
    answers: bool
    """Whether an API does, on this host or at the platform's address."""
    workers: list[str]
    """The processes that execute runs: their hosts, process numbers and some random letters."""
    runs: list[OpenRun]
    series: list[DueSeries]
    clusters: list[ClusterView]
    certificates: dict[str, float]
    """When each of them expires."""
    operators: dict[str, float | None]
    """Until when each operator is signed in; None: not any more."""
    rotations: dict[str, str]
    """Per config file, the step that comes next in a rotation that was begun."""
    critical: list[str]
    """What keeps the platform from answering in time, with what to do."""
    warnings: list[str]
    """What will, unless somebody acts."""


def service_status(settings: Settings, config: Path, /, *, now: float) -> ServiceStatus:
    """Read how a platform is; changes nothing, so it may run meanwhile."""
    url = settings.database_url
    if url.startswith(SQLITE) and not Path(url.removeprefix(SQLITE)).exists():
        raise InputError(f"there is no database {url.removeprefix(SQLITE)}; start the platform")
    with closing(Database(url)) as database, database.reading() as session:
        runs, series = _open_runs(session), _due_series(session)
        operators = _operators(session, now)
        workers = [each.name for each in workers_seen(session)]
        failed, notices = list(_failed(session, now)), list(_notice_warnings(session, now))
    answers, clusters = asyncio.run(_asked(settings, runs))
    certificates, rotations = _certificates(settings, clusters), _rotations(settings, config)
    expired = {name: at for name, at in certificates.items() if at <= now}
    soon = {name: at for name, at in certificates.items() if at > now}
    down = [] if answers else [f"nothing answers at {settings.listen}; start the platform"]
    if not workers:
        down.append("no process executes runs; start the platform, or a worker")
    return ServiceStatus(
        url=settings.url,
        version=tacit.__version__,
        database=url.partition(":")[0].partition("+")[0],
        answers=answers,
        workers=workers,
        runs=runs,
        series=series,
        clusters=clusters,
        certificates=certificates,
        operators=operators,
        rotations=rotations,
        critical=[
            *down,
            *_late(runs, series, now),
            *_nodes_away(clusters),
            *expiry_warnings(expired, now).values(),
        ],
        warnings=[
            *failed,
            *_waiting(runs, now),
            *_node_warnings(clusters),
            *expiry_warnings(soon, now).values(),
            *_operator_warnings(operators, now),
            *notices,
            *disk_warnings(settings.data_folder),
        ],
    )


# The database.


def _open_runs(session: Session) -> list[OpenRun]:
    signed = func.count(Member.signature)
    accepted = func.count(case((Member.submission_state == "accepted", 1)))
    counts = select(Member.run, func.count(), signed, accepted).group_by(Member.run)
    members = {run: (of, s, a) for run, of, s, a in session.execute(counts)}
    columns = (Run.id, Run.name, Run.state, Run.cluster, Run.owner, Run.deadline_at, Run.agreement)
    query = select(*columns).where(Run.state.in_(OPEN)).order_by(Run.deadline_at, Run.created)
    found = []
    for run, name, state, cluster, owner, due, agreement in session.execute(query):
        of, has_signed, has_submitted = members.get(run, (0, 0, 0))
        waits_for = {
            "invited": f"signatures ({has_signed} of {of})"
            if agreement
            else "participants to join",
            "agreed": f"inputs ({has_submitted} of {of})",
            "submitted": "a slot",
            "running": "its deadline",
        }.get(state, "somebody to resume it")
        found.append(
            OpenRun(
                id=run,
                name=name,
                state=state,
                cluster=cluster,
                waits_for=waits_for,
                owner=owner,
                due=due if state == "running" else None,
                expires=_expiry(agreement),
            )
        )
    return found


def _expiry(agreement: bytes | None) -> float | None:
    try:
        return None if agreement is None else read_agreement(agreement).limits.expires
    except AgreementError:
        return None  # whoever resumes it hears what is wrong with it


def _due_series(session: Session) -> list[DueSeries]:
    columns = StandingSeries.id, StandingSeries.name, StandingSeries.next_at
    query = select(*columns).where(StandingSeries.next_at.is_not(None))
    rows = session.execute(query.order_by(StandingSeries.next_at))
    return [DueSeries(series, name, at) for series, name, at in rows if at is not None]


def _failed(session: Session, now: float) -> Iterator[str]:
    columns = Run.id, Run.name, Run.reason
    query = select(*columns).where(Run.state == "failed", Run.ended > now - RECENT_SECONDS)
    for run, name, reason in session.execute(query.order_by(Run.ended)):
        yield f"run {run} ({name}) has failed within a day: {reason}; see its page"


def _operators(session: Session, now: float) -> dict[str, float | None]:
    """Until when each operator is signed in, by the token that is valid for longest."""
    is_valid = AccessToken.revoked.is_(None) & (AccessToken.expires > now)
    query = (
        select(Account.name, func.max(AccessToken.expires))
        .outerjoin(AccessToken, (AccessToken.account == Account.name) & is_valid)
        .where(Account.role == "operator")
        .group_by(Account.name)
        .order_by(Account.name)
    )
    return {name: expires for name, expires in session.execute(query)}  # noqa: C416 - rows are not tuples


def _notice_warnings(session: Session, now: float) -> Iterator[str]:
    untried = select(func.count()).where(
        Notice.next_at.is_not(None), Notice.attempts == 0, Notice.at < now - UNTRIED_SECONDS
    )
    if count := session.scalar(untried):
        yield f"{count} notices wait and nobody delivers them; see the platform's log"
    failing = select(func.count()).where(Notice.next_at.is_not(None), Notice.error.is_not(None))
    if count := session.scalar(failing):
        yield f"{count} notices could not be delivered so far; see the platform's log"


# The nodes, and the API of this host.


async def _asked(settings: Settings, runs: list[OpenRun]) -> tuple[bool, list[ClusterView]]:
    links = [
        ClusterLinks(each.name, settings.place(each.file), slots=each.slots)
        for each in settings.cluster
    ]
    health = asyncio.create_task(asyncio.to_thread(_is_healthy, settings))
    await asyncio.gather(*(each.look() for each in links))
    found = []
    for each in links:
        states = [run.state for run in runs if run.cluster == each.name]
        count = {"running": states.count("running"), "waiting": states.count("submitted")}
        found.append(each.status(**count))
        await each.stop()
    return await health, found


def _is_healthy(settings: Settings) -> bool:
    host, port = parse_address(settings.listen)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    own = host, port, settings.tls_certificate is not None
    # A host that has workers alone asks where everybody does.
    url = urlsplit(settings.url)
    is_https = url.scheme == "https"
    public = url.hostname or host, url.port or (443 if is_https else 80), is_https
    return any(_answers(*each) for each in dict.fromkeys((own, public)))


def _answers(host: str, port: int, is_https: bool) -> bool:
    connection: http.client.HTTPConnection
    if not is_https:
        connection = http.client.HTTPConnection(host, port, timeout=HEALTH_SECONDS)
    else:
        # Nothing is told to whoever answers; its certificate is looked at below, in its file.
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(
            host, port, timeout=HEALTH_SECONDS, context=context
        )
    try:
        with closing(connection):
            connection.request("GET", "/api/v1/health")
            return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False


# Files.


def _certificates(settings: Settings, clusters: Iterable[ClusterView]) -> dict[str, float]:
    found = {}
    if settings.tls_certificate is not None:
        shown = read_certificate(settings.place(settings.tls_certificate))
        found["the platform's website"] = expires(shown)
    for cluster in clusters:
        ours = {"the platform": cluster.certificate_expires}
        nodes = {f"node {i}": node.certificate_expires for i, node in enumerate(cluster.nodes)}
        named = {f"{party} ({cluster.name})": at for party, at in {**ours, **nodes}.items()}
        found |= {party: at for party, at in named.items() if at is not None}
    return found


def _rotations(settings: Settings, config: Path) -> dict[str, str]:
    rotated = {}
    for each in settings.cluster:
        file = settings.place(each.file)
        rotated[str(file)] = rotated_by_platform(load_cluster_config(file))
    if (website := rotated_website(settings)) is not None:
        rotated[str(config)] = website
    return {name: step for name, each in rotated.items() if (step := each.open_step) is not None}


# What needs attention.


def _late(runs: list[OpenRun], series: list[DueSeries], now: float) -> Iterator[str]:
    for run in runs:
        if run.due is not None and now - run.due > LATE_SECONDS:
            yield (
                f"run {run.id} ({run.name}) should have been answered {now - run.due:.0f} s ago; "
                "see whether the platform runs, and its log"
            )
    for each in series:
        if now - each.next_at > OVERDUE_SECONDS:
            yield (
                f"the next run of series {each.id} ({each.name}) should have begun "
                f"{now - each.next_at:.0f} s ago; see whether the platform runs, and its log"
            )


def _waiting(runs: list[OpenRun], now: float) -> Iterator[str]:
    for run in runs:
        if run.state == "interrupted":
            yield f"run {run.id} ({run.name}) is interrupted; tacit run resume {run.id}"
        elif (
            run.state != "running" and run.expires is not None and run.expires < now + SOON_SECONDS
        ):
            hours = (run.expires - now) / 3600
            yield (
                f"run {run.id} ({run.name}) waits for {run.waits_for}, and its agreement expires "
                f"in {hours:.1f} hours; tacit run show {run.id}"
            )


def _nodes_away(clusters: list[ClusterView]) -> Iterator[str]:
    for cluster in clusters:
        for number, node in enumerate(cluster.nodes):
            if not node.reachable:
                yield (
                    f"node {number} of {cluster.name} ({node.host}:{node.port}) does not answer; "
                    "ask its operator to start it"
                )


def _node_warnings(clusters: list[ClusterView]) -> Iterator[str]:
    for cluster in clusters:
        for number, node in enumerate(cluster.nodes):
            offset, room = node.clock_offset_seconds, node.room_used
            if offset is not None and abs(offset) > CLOCK_TOLERANCE_SECONDS:
                yield (
                    f"the clock of node {number} of {cluster.name} is off by {offset:+.1f} s; set "
                    "both by NTP"
                )
            if room is not None and room >= WARN_PART:
                yield (
                    f"node {number} of {cluster.name} has {1 - room:.0%} of its room left "
                    f"({node.scarcest}); end or cancel runs, or ask its operator"
                )


def _operator_warnings(operators: dict[str, float | None], now: float) -> Iterator[str]:
    until = [at for at in operators.values() if at is not None]
    if not until:
        yield "no operator is signed in; tacit service invite NAME"
    elif max(until) < now + TOKEN_SECONDS:
        days = (max(until) - now) / 86_400
        yield f"the last token of an operator expires in {days:.1f} days; tacit service invite NAME"
