"""Take a series from its terms to its end: members join, sign it once, and runs are made of it.

A series is *invited* until all have joined, then drawn up and *agreed* once all have signed, and
*ended* at last. Its runs begin one after the other; their numbers only grow, in that order.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace
from sqlalchemy.orm import Session

from tacit.agreement import (
    Series,
    SeriesLimits,
    SeriesNode,
    SeriesSchedule,
    SignedSeries,
    Varying,
    canonical,
    draft_series,
    is_signed,
    read_agreement,
    read_series,
    series_hash,
)
from tacit.client import (
    ENDS,
    EquitySettings,
    NextRun,
    ProblemTerms,
    RunTerms,
    SeriesTerms,
    VaryingTerms,
)
from tacit.equity import EquityTerms
from tacit.errors import NotThereError, ServiceError, WrongStateError
from tacit.identity import load_cluster_config
from tacit.local import node_terms, platform_certificate
from tacit.service.access.credentials import accounts_with_open_invitation, new_invitation
from tacit.service.server.settings import Settings
from tacit.service.storage import (
    Run,
    SeriesMember,
    StandingSeries,
    create_run,
    list_series,
    members_of_series,
    read_run,
    read_series_member,
    read_standing_series,
    runs_of_series,
    set_state,
)
from tacit.service.storage.models import new_id
from tacit.service.workflow.drafting import (
    agreement_in_series,
    agreement_of_terms,
    checked_terms,
    largest_factor,
    placeholder_keys,
    placeholder_parties,
    series_on_placeholders,
    with_steps_for,
)
from tacit.service.workflow.inviting import accounts_of, invite_members

USUAL_MASK_PART = 16
"""Of the columns of a row such a part may be forbidden otherwise than in the pattern, if nothing is
said: plans under few other masks tell little (docs/leakage.md)."""


def next_time(schedule: SeriesSchedule, after: float, /) -> float:
    """The schedule's first time after this one; both in seconds since 1970.

    Minutes are counted from midnight UTC of 1970-01-01, so that a restart of the platform changes
    nothing, and times that were missed are not made up for.

    >>> next_time(SeriesSchedule(every_minutes=30), 1_000_000_000.0)
    1000000800.0
    >>> next_time(SeriesSchedule(at=["01:30", "02:00"]), 1_000_000_000.0)  # at 01:46:40
    1000000800.0
    >>> next_time(SeriesSchedule(at=["01:30"]), 1_000_000_000.0) - 1_000_000_000.0
    85400.0
    """
    if schedule.every_minutes:
        step = 60.0 * schedule.every_minutes
        return (after // step + 1) * step
    now = datetime.fromtimestamp(after, UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    times = [
        today + timedelta(days=day, hours=int(text[:2]), minutes=int(text[3:]))
        for day in (0, 1)
        for text in schedule.at
    ]
    return min(each for each in times if each > now).timestamp()


def create_series(
    session: Session, settings: Settings, terms: SeriesTerms, /, *, by: str, cluster: str
) -> tuple[str, dict[str, str]]:
    """Add a series and invite its participants; returns its id, and codes of those who are new."""
    accounts = accounts_of(session, list(terms.run.participants))
    # A new code would end an invitation that was handed out already.
    invited = accounts_with_open_invitation(session)
    codes = {
        account.name: new_invitation(session, account.name, hours=settings.invitation_hours)[0]
        for account in accounts
        if account.signing_key is None and account.name not in invited
    }
    series = StandingSeries(
        id=new_id("s"),
        name=terms.name,
        terms=terms,
        cluster=cluster,
        created_by=by,
        created=time.time(),
    )
    session.add(series)
    session.flush()
    for position, account in enumerate(accounts):
        session.add(SeriesMember(series=series.id, participant=account.name, position=position))
    return series.id, codes


def series_of_terms(
    terms: SeriesTerms,
    settings: Settings,
    cluster: str,
    /,
    *,
    keys: Mapping[str, str],
    now: float,
) -> Series:
    """Draw up the series that participants sign, on the nodes of a cluster."""
    file = next((each.file for each in settings.cluster if each.name == cluster), None)
    if file is None:
        raise NotThereError(f"there is no cluster {cluster!r} in service.toml any more; add it")
    config = load_cluster_config(settings.place(file))
    nodes = node_terms(config)
    parties = placeholder_parties(keys, nodes=len(nodes))
    equity = _signed_equity(terms.equity)
    pattern = agreement_of_terms(terms.run, parties, factor=largest_factor(equity))
    problem = terms.run.problem
    varying = varying_of(terms.varying, problem, participants=len(terms.run.participants))
    growth = max(varying.most_rows / problem.rows, varying.most_columns / problem.columns)
    pattern = with_steps_for(growth, pattern, terms.run)
    limits = pattern.limits
    return draft_series(
        pattern,
        name=terms.name,
        nodes=[SeriesNode(each.host, each.port, each.signing_key) for each in nodes],
        platform=platform_certificate(config),
        limits=SeriesLimits(
            evaluations=limits.evaluations,
            population_min=limits.population_min,
            population_max=limits.population_max,
            distinct_min=limits.distinct_min,
            run_hours=terms.run_hours,
            deadline_seconds=terms.run.deadline_seconds,
            runs_per_day=terms.runs_per_day,
            expires=int(now + terms.days * 86400),
        ),
        varying=varying,
        schedule=None if terms.schedule is None else _schedule(terms),
        equity=equity,
        nonce=parties.nonce,
    )


def _signed_equity(settings: EquitySettings | None) -> EquityTerms | None:
    return None if settings is None else EquityTerms(**msgspec.structs.asdict(settings))


def varying_of(given: VaryingTerms, problem: ProblemTerms, /, *, participants: int = 1) -> Varying:
    """Return what may vary, with everything that the terms leave out."""
    # Without sizes of their own, problems that vary may halve or double.
    sizes: dict[str, int] = {}
    for name, there in (("rows", problem.rows), ("columns", problem.columns)):
        varies = name in given.parts
        least, most = getattr(given, f"least_{name}"), getattr(given, f"most_{name}")
        sizes[f"least_{name}"] = least or (max(1, there // 2) if varies else there)
        sizes[f"most_{name}"] = most or (2 * there if varies else there)
    return Varying(
        parts=given.parts,
        **sizes,
        least_allowed=given.least_allowed or _usual_allowed(problem, sizes["least_columns"]),
        most_mask_changes=_mask_changes(given, sizes["least_columns"]),
        least_each=given.least_each,
        least_participants=given.least_participants or participants,
    )


def _usual_allowed(problem: ProblemTerms, columns: int) -> int:
    """Half of the columns, unless the pattern itself allows some row fewer."""
    masked = Counter(row for row, _ in set(problem.forbidden))
    return max(1, min(-(-columns // 2), problem.columns - max(masked.values(), default=0)))


def _mask_changes(given: VaryingTerms, columns: int) -> int:
    if "forbidden" not in given.parts:
        return 0
    usual = -(-columns // USUAL_MASK_PART)
    return usual if given.most_mask_changes is None else given.most_mask_changes


def _schedule(terms: SeriesTerms) -> SeriesSchedule:
    assert terms.schedule is not None
    return SeriesSchedule(terms.schedule.every_minutes or 0, sorted(set(terms.schedule.at)))


def checked_series_terms(terms: SeriesTerms, settings: Settings, cluster: str, /) -> SeriesTerms:
    """The terms, with the pattern's budget; refused if no series could be made of them."""
    equity = _signed_equity(terms.equity)
    run = checked_terms(terms.run, factor=largest_factor(equity))
    checked = replace(terms, run=run)
    keys = placeholder_keys(terms.run.participants)
    made = series_of_terms(checked, settings, cluster, keys=keys, now=time.time())
    if made.equity is not None and (made.equity.reference != "given" or run.reference is not None):
        fitting_terms(checked.run, made)  # otherwise nobody notices before all have signed
    return checked


def undrafted_series(session: Session, participant: str | None = None, /) -> list[str]:
    """The series, all or a participant's, that can be drawn up: all have joined."""
    return [
        each.id
        for each in list_series(session, participant=participant)
        if each.data is None
        and each.ended is None
        and all(key is not None for _, key in members_of_series(session, each.id))
    ]


def draw_up_series(session: Session, settings: Settings, series_id: str, /) -> bool:
    """Store what is to be signed, if all have joined and it is not stored yet."""
    # Locked, since whoever joins and the schedule may both come here: drawn up twice, the series
    # would have another nonce, and a signature under the first would not count.
    series = read_standing_series(session, series_id, for_update=True)
    keys = {member.participant: key for member, key in members_of_series(session, series_id)}
    known = {name: key for name, key in keys.items() if key is not None}
    if series.data is not None or series.ended is not None or len(known) < len(keys):
        return False
    made = series_of_terms(series.terms, settings, series.cluster, keys=known, now=time.time())
    series.data, series.hash = canonical(made), series_hash(made)
    return True


def series_bytes(session: Session, series_id: str, /) -> tuple[bytes, str]:
    """Return the series as it is signed, and its hash."""
    series = read_standing_series(session, series_id)
    if series.data is None or series.hash is None:
        members = members_of_series(session, series_id)
        missing = ", ".join(each.participant for each, key in members if key is None)
        raise NotThereError(f"the series is not drawn up yet; waiting for: {missing}")
    return series.data, series.hash


def sign_series(session: Session, series_id: str, participant: str, signature: bytes, /) -> bool:
    """Store a participant's signature; returns whether all have signed now."""
    # Locked: of two who sign at once, one has to see that all have signed, or the schedule would
    # never begin.
    series = read_standing_series(session, series_id, for_update=True)
    data, digest = series_bytes(session, series_id)
    _check_stands(series)
    member = read_series_member(session, series_id, participant)
    made = read_series(data)
    key = next(each.signing_key for each in made.participants if each.name == participant)
    if not is_signed(key, "series", bytes.fromhex(digest), signature):
        raise ServiceError("this is not your signature under the series; fetch it again")
    # A client that got no answer signs again; the time of the first signature stays.
    member.signature, member.signed = signature, member.signed or time.time()
    session.flush()
    # The clock starts with the last signature: before it no run could begin.
    agreed = is_agreed(session, series_id)
    if agreed and series.next_at is None and made.schedule is not None:
        series.next_at = next_time(made.schedule, time.time())
    return agreed


def _check_stands(series: StandingSeries) -> None:
    if series.ended is not None:
        raise WrongStateError(f"the series has ended ({series.reason}); make a new one")


def is_agreed(session: Session, series_id: str, /) -> bool:
    return all(each.signature is not None for each, _ in members_of_series(session, series_id))


def signed_series(session: Session, series_id: str, /) -> SignedSeries:
    """Return a series with its signatures, as nodes check it."""
    data, _ = series_bytes(session, series_id)
    members = members_of_series(session, series_id)
    return SignedSeries(data, {each.participant: each.signature or b"" for each, _ in members})


def end_series(session: Session, series_id: str, reason: str, /) -> None:
    """Make no more runs of a series; those that there are go on."""
    series = read_standing_series(session, series_id, for_update=True)
    _check_stands(series)
    series.ended, series.reason, series.next_at = time.time(), reason, None


def open_run(session: Session, series_id: str, /) -> Run | None:
    """The run of a series that is under way; drafts and ends do not count."""
    runs = runs_of_series(session, series_id)
    return next((run for run in runs if run.state not in ENDS and run.state != "draft"), None)


def _fail_expired(session: Session, series_id: str, now: float) -> None:
    """Fail a run that nobody can sign or start any more: it must not hold up the next one."""
    run = open_run(session, series_id)
    if run is None or run.state not in ("invited", "agreed"):
        return
    data = read_run(session, run.id).agreement
    made = read_series(read_standing_series(session, series_id).data or b"")
    # A run without an agreement, because a node is away, gets as long as one that has it.
    expires = (
        run.created + 3600 * made.limits.run_hours
        if data is None
        else read_agreement(data).limits.expires
    )
    if expires <= now:
        reason = "its agreement expired before everybody had signed and submitted"
        set_state(session, run.id, "failed", reason=reason)


def next_terms(session: Session, series_id: str, changes: NextRun, /) -> tuple[RunTerms, Series]:
    """The terms of the last run with these changes, and the series that they have to fit."""
    series = read_standing_series(session, series_id)
    _check_stands(series)
    if not is_agreed(session, series_id):
        raise WrongStateError("not everybody has signed the series; wait until all have")
    runs = runs_of_series(session, series_id)
    # `runs_of_series` defers the terms, which may be long.
    last = read_run(session, runs[-1].id).terms if runs else series.terms.run
    if changes.problem not in (None, last.problem):
        last = replace(last, reference=None)  # that of another problem
    differ = {
        name: value
        for name in ("problem", "reference")
        if (value := getattr(changes, name)) is not None
    }
    owners = changes.participants or last.participants
    terms = replace(
        last,
        # A name that is left out is given when the run has its number.
        name=changes.name or series.name,
        participants=in_order_of_series(session, series_id, owners),
        **differ,
    )
    return terms, read_series(series.data or b"")


def in_order_of_series(
    session: Session, series_id: str, owners: Mapping[str, list[int]], /
) -> dict[str, list[int]]:
    """Owners with their rows in the order of the series, whatever order they are given in."""
    order = [member.participant for member, _ in members_of_series(session, series_id)]
    if unknown := [name for name in owners if name not in order]:
        raise ServiceError(f"{unknown[0]!r} did not sign the series; leave it out")
    return {name: owners[name] for name in order if name in owners}


def fitting_terms(terms: RunTerms, series: Series, /) -> RunTerms:
    """The terms with their budget; refused if no run of the series could be made of them."""
    checked = checked_terms(terms, factor=largest_factor(series.equity))
    keys = {each.name: each.signing_key for each in series.participants}
    parties = placeholder_parties(keys, nodes=len(series.nodes))
    # The real nodes are not asked for keys now, so the series is tried on placeholders.
    agreement_in_series(checked, series_on_placeholders(series, parties), 1, parties)
    return checked


def add_run(
    session: Session, series_id: str, terms: RunTerms, /, *, by: str, name: str | None = None
) -> str:
    """Add a draft of the next run; without a name it is called by its number."""
    # Locked: two runs that are added at once must not get the same number.
    series = read_standing_series(session, series_id, for_update=True)
    _check_stands(series)
    number = next_number(session, series)
    terms = replace(terms, name=name or name_of_run(series, number))
    return create_run(session, terms, by=by, series=series_id, series_number=number).id


def begin_run(session: Session, settings: Settings, run_id: str, /) -> None:
    """Invite the members of a drafted run of a series; all have joined already."""
    run = read_run(session, run_id)
    assert run.series is not None
    # Locked, since the schedule and an operator may begin a run at the same moment.
    series = read_standing_series(session, run.series, for_update=True)
    _check_stands(series)
    _fail_expired(session, run.series, time.time())
    # One run after the other: the nodes count the runs of a series in order, and with equity each
    # begins from the balances that the one before has left.
    under_way = open_run(session, run.series)
    if under_way is not None:
        raise WrongStateError(
            f"run {under_way.series_number} of series {run.series}, {under_way.id}, is "
            f"{under_way.state}; wait until it has ended, or cancel it"
        )
    renumber(session, series, run)
    invite_members(session, settings, run_id, series.cluster)


# Numbers of runs.


def next_number(session: Session, series: StandingSeries, /) -> int:
    runs = runs_of_series(session, series.id)
    return 1 + max((run.series_number or 0 for run in runs), default=0)


def name_of_run(series: StandingSeries, number: int, /) -> str:
    # From the end: the column has room for 200 characters, and the number must be among them.
    return f"{series.name} {number}"[-200:]


def renumber(session: Session, series: StandingSeries, draft: Run, /) -> None:
    """Give a draft another number if runs after it have begun.

    Participants and nodes take only numbers that grow, so that no run is replayed.
    """
    begun = [
        run.series_number or 0 for run in runs_of_series(session, series.id) if run.state != "draft"
    ]
    if draft.series_number is None or draft.series_number > max(begun, default=0):
        return
    number = next_number(session, series)
    if draft.name == name_of_run(series, draft.series_number):
        draft.name = name_of_run(series, number)
        draft.terms = replace(draft.terms, name=draft.name)
    draft.series_number = number
    session.flush()


# Changes of a draft: within what was signed, and nothing is left out silently.

OF_EACH_RUN = frozenset({"name", "problem", "participants", "reference", "deadline_seconds"})
"""The terms that each run sets itself. `limits` has terms of both; all others are the series'."""

LIMITS_OF_SERIES = {
    False: ("expiry_hours", "distinct_min"),
    True: ("expiry_hours", "distinct_min", "evaluations"),
}
"""By whether it is a series of sealed assignments, whose steps are pinned with their search."""


def draft_in_series(
    session: Session, run_id: str, terms: RunTerms, /
) -> tuple[RunTerms, Series] | None:
    """The changed terms of a draft and the series that they have to fit; None if it has none."""
    run = read_run(session, run_id)
    if run.series is None:
        return None
    series = read_standing_series(session, run.series)
    made = read_series(series.data or b"")
    _check_signed(series.terms.run, terms, made)
    owners = in_order_of_series(session, run.series, terms.participants)
    return replace(terms, participants=owners), made


def fitting_draft(terms: RunTerms, series: Series, /) -> RunTerms:
    """The changed terms with their budget; refused if no run of the series could be made of it."""
    checked = fitting_terms(terms, series)
    if series.pattern().is_exact:  # whose steps are pinned
        return checked
    most = min(checked.limits.evaluations or series.limits.evaluations, series.limits.evaluations)
    return replace(checked, limits=replace(checked.limits, evaluations=most))


def _check_signed(signed: RunTerms, changed: RunTerms, series: Series) -> None:
    """Refuse changes of what was signed with the series.

    The agreement has the search and the limits of the series whatever a draft says. So other ones
    in the draft would be shown, but would not hold.
    """
    differ = [
        name
        for name in RunTerms.__struct_fields__
        if name not in OF_EACH_RUN | {"limits"} and getattr(changed, name) != getattr(signed, name)
    ]
    differ += [
        name
        for name in LIMITS_OF_SERIES[series.pattern().is_exact]
        if getattr(changed.limits, name) != getattr(signed.limits, name)
    ]
    if differ:
        raise ServiceError(
            f"{', '.join(differ)}: signed with the series, the same in all its runs; leave it as "
            "it is, or have all sign a new series"
        )
    most = series.limits
    if changed.deadline_seconds > most.deadline_seconds:
        raise ServiceError(
            f"the deadline of a run of this series is {most.deadline_seconds:g} s at most; "
            "all have signed that"
        )
    if (changed.limits.evaluations or 0) > most.evaluations:
        raise ServiceError(
            f"the number of evaluations of a run of this series is {most.evaluations} at most; "
            "all have signed that"
        )
