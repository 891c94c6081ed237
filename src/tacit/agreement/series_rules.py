"""Check a series before it is signed, and a run against its series.

There is one rule per field of an agreement, so that none can be added without saying what a series
has to say about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from tacit.agreement.draft import check_agreement, check_name
from tacit.agreement.series import (
    FORMAT,
    Series,
    SeriesLimits,
    SeriesNode,
    SeriesSchedule,
    Varying,
    series_hash,
)
from tacit.agreement.terms import AgreedRules, Agreement
from tacit.equity import LEAST_PARTICIPANTS, EquityTerms, first_come
from tacit.errors import AgreementError, InputError
from tacit.problems import PublicProblem

MOST_RUNS_PER_DAY = 1440
MOST_SECONDS = 366 * 86400.0
"""A signature that stands for longer is forgotten by those who gave it."""
MOST_RUN_HOURS = 24.0 * 7
PARTS = ["rows", "columns", "forbidden", "data"]


def check_series(series: Series, /) -> None:
    """Refuse a series that contradicts itself, or of which no run could be made."""
    check_name(series.name)
    check_agreement(series.pattern(), offered=False)
    for terms in series.objectives:
        if not terms.confidential:
            raise AgreementError(
                f"objective {terms.name!r} is public; whoever chooses its weights run by run would "
                "steer what is evaluated, so a series has confidential objectives only"
            )
        if terms.owners or terms.public_weights is not None:
            raise AgreementError(
                f"objective {terms.name!r}: owners and public weights are those of a run; leave "
                "them out of the series"
            )
    # Whoever knows the seed before costs are sealed can try which costs suit the search.
    if series.search.seed is not None:
        raise AgreementError("the seed of a series is drawn in each run by the nodes; leave it out")
    _check_varying(series)
    _check_limits(series)
    _check_schedule(series)
    _check_equity(series)


def _check_equity(series: Series) -> None:
    # What holds for single runs is checked with the pattern.
    if series.equity is None:
        return
    if series.varying.least_participants < LEAST_PARTICIPANTS:
        raise AgreementError(
            f"runs with {series.varying.least_participants} participants would tell balances, "
            f"which add up to zero; let at least {LEAST_PARTICIPANTS} take part"
        )
    if series.varying.least_columns < 2:
        raise AgreementError("with one column there is nothing to save; take at least two")


def _check_varying(series: Series) -> None:
    varying, problem = series.varying, series.problem
    if varying.parts != [part for part in PARTS if part in varying.parts]:
        raise AgreementError(f"what varies is written once each, in the order {', '.join(PARTS)}")
    for what, least, there, most in (
        ("rows", varying.least_rows, problem.rows, varying.most_rows),
        ("columns", varying.least_columns, problem.columns, varying.most_columns),
    ):
        if not 1 <= least <= there <= most:
            raise AgreementError(
                f"the series allows {least} to {most} {what} and its pattern has {there}; let the "
                "limits contain it"
            )
        if what not in varying.parts and not least == there == most:
            raise AgreementError(f"{what} do not vary, so the limits are those of the pattern")
    if not 1 <= varying.least_allowed <= varying.least_columns or varying.least_each < 1:
        raise AgreementError(
            "a row is allowed at least one column, and a participant has at least one row; no more "
            "than there are"
        )
    if not 0 <= varying.most_mask_changes <= ("forbidden" in varying.parts) * varying.most_columns:
        raise AgreementError(
            f"masks differ from the pattern's in up to {varying.most_mask_changes} pairs of a row; "
            "give no more than there are columns, and 0 where forbidden pairs do not vary"
        )
    if not 1 <= varying.least_participants <= len(series.participants):
        raise AgreementError(
            f"{varying.least_participants} participants at least, and {len(series.participants)} "
            "are named; take as many or fewer"
        )


def _check_limits(series: Series) -> None:
    limits = series.limits
    if not 1 <= limits.runs_per_day <= MOST_RUNS_PER_DAY:
        raise AgreementError(
            f"{limits.runs_per_day} runs per day; a series allows 1 to {MOST_RUNS_PER_DAY}"
        )
    if not 0 < limits.run_hours <= MOST_RUN_HOURS:
        raise AgreementError(f"a run of a series is valid for up to {MOST_RUN_HOURS:g} hours")
    if not 0 < limits.deadline_seconds <= 3600 * limits.run_hours:
        raise AgreementError("the deadline of a run is after its end; shorten it")
    pattern = series.pattern()
    if pattern.sealed:
        _check_seconds(pattern.sealed_run.seconds, limits.deadline_seconds)


def _check_seconds(seconds: int, deadline: float) -> None:
    # From these seconds on nodes take the deadline as come, and open early plans too.
    if 0 < seconds < int(deadline):
        raise AgreementError(
            f"nodes would open plans early from {seconds} s on, and the deadline of a run is "
            f"{deadline:g} s; draft it again"
        )


def _check_schedule(series: Series) -> None:
    schedule = series.schedule
    if schedule is None:
        return
    if bool(schedule.at) == bool(schedule.every_minutes) or schedule.every_minutes < 0:
        raise AgreementError("a schedule has every_minutes, or times of day; give one of them")
    if schedule.at != sorted(set(schedule.at)):
        raise AgreementError("times of day are given once each, in their order")
    a_day = len(schedule.at) or -(-1440 // schedule.every_minutes)
    if a_day > series.limits.runs_per_day:
        raise AgreementError(
            f"the schedule has {a_day} runs a day and the series allows "
            f"{series.limits.runs_per_day}; make both fit"
        )


def check_still_runs(series: Series, now: float, /) -> None:
    """Refuse a series that has expired, or stands for longer than any should."""
    if now >= series.limits.expires:
        raise AgreementError("the series has expired; sign a new one")
    if series.limits.expires > now + MOST_SECONDS:
        raise AgreementError("the series expires in more than a year; shorten it")


# Whether a run is within its series.

CLOCK_SECONDS = 120.0
"""By so much the clock of whoever drew up a run may be ahead."""
Found = Iterator[str]
Label = int | str
"""A row or a column: its number, or its name."""


def departures(series: Series, agreement: Agreement, /, *, now: float) -> list[str]:
    """Return everything in a run that is not within what was signed; empty if all is."""
    found = [why for rule in RULES.values() for why in rule(series, agreement)]
    # The clock here may be behind that of whoever drew up the run.
    latest = min(series.limits.expires, now + 3600 * series.limits.run_hours + CLOCK_SECONDS)
    if agreement.limits.expires > latest:
        found.append(
            f"its agreement is valid for longer than {series.limits.run_hours:g} hours, or than "
            f"the series; or the clock here is more than {CLOCK_SECONDS:g} s behind the platform's"
        )
    return found


def check_within(series: Series, agreement: Agreement, /, *, now: float) -> None:
    """Refuse a run that departs from its series."""
    found = departures(series, agreement, now=now)
    if found:
        raise AgreementError(
            f"this run is not within its series: {'; '.join(found)}. Draft it again, or have all "
            "sign a new series"
        )


def _nothing(_series: Series, _agreement: Agreement) -> Found:
    """Accept anything: it is drawn for each run, or checked wherever agreements are."""
    return iter(())


def _same(name: str) -> Callable[[Series, Agreement], Found]:
    """Return a rule for a field that must be as the series has it."""

    def compare(series: Series, agreement: Agreement) -> Found:
        signed, shown = getattr(series, name), getattr(agreement, name)
        if signed != shown:
            yield f"its {name.replace('_', ' ')} is not the one that was signed"

    return compare


def _problem(series: Series, agreement: Agreement) -> Found:
    signed, shown, varying = series.problem, agreement.problem, series.varying
    for what in PublicProblem.__struct_fields__:
        part = PARTS_OF_PROBLEM[what]
        if part == "" or part in varying.parts:
            continue
        if getattr(signed, what) != getattr(shown, what):
            yield f"its {what.replace('_', ' ')} may not vary"
    for what, least, there, most in (
        ("rows", varying.least_rows, shown.rows, varying.most_rows),
        ("columns", varying.least_columns, shown.columns, varying.most_columns),
    ):
        if not least <= there <= most:
            yield f"it has {there} {what}, and {least} to {most} were agreed on"
    # By the rows of a mask alone: a pair that is given twice counts as two, on the safe side.
    masked = Counter(row for row, _ in shown.forbidden)
    most_masked = max(masked.values(), default=0)
    if shown.columns - most_masked < varying.least_allowed:
        yield f"a row may take fewer than {varying.least_allowed} columns"
    changed = mask_changes(signed, shown)
    if changed > varying.most_mask_changes:
        yield (
            f"its mask differs from the pattern's in {changed} pairs of a row, and at most "
            f"{varying.most_mask_changes} were agreed on"
        )


def mask_changes(pattern: PublicProblem, problem: PublicProblem, /) -> int:
    """Return in how many pairs of a row the masks differ, of the row where it is most.

    Rows and columns are compared by their names, where both problems have them. What the pattern
    does not have is allowed there: all forbidden pairs of another row count.

    >>> slots = PublicProblem("a", "assignment", 2, 3, None, None, [(0, 1)])
    >>> mask_changes(slots, replace(slots, forbidden=[(0, 1), (1, 0), (1, 2)]))
    2
    >>> mask_changes(slots, replace(slots, forbidden=[(0, 0)]))
    2
    """
    rows = _labels(problem.rows, pattern.row_names, problem.row_names)
    columns = _labels(problem.columns, pattern.column_names, problem.column_names)
    there = set(columns)
    signed = {
        row: mask & there
        for row, mask in _masks(
            pattern,
            _labels(pattern.rows, problem.row_names, pattern.row_names),
            _labels(pattern.columns, problem.column_names, pattern.column_names),
        ).items()
    }
    shown = _masks(problem, rows, columns)
    nothing: set[Label] = set()
    return max(len(shown.get(row, nothing) ^ signed.get(row, nothing)) for row in rows)


def _labels(count: int, others: list[str] | None, own: list[str] | None) -> Sequence[Label]:
    return range(count) if own is None or others is None else own


def _masks(
    problem: PublicProblem, rows: Sequence[Label], columns: Sequence[Label]
) -> dict[Label, set[Label]]:
    """Return the forbidden columns of each row that has some."""
    masks: dict[Label, set[Label]] = {}
    for row, column in problem.forbidden:
        # Others are refused with the problem; here nobody has looked at it yet.
        if 0 <= row < len(rows) and 0 <= column < len(columns):
            masks.setdefault(rows[row], set()).add(columns[column])
    return masks


def _participants(series: Series, agreement: Agreement) -> Found:
    order = {each.name: place for place, each in enumerate(series.participants)}
    known = {each.name: each for each in series.participants}
    for each in agreement.participants:
        if each.name not in known:
            yield f"{each.name!r} takes part and did not sign the series"
        elif known[each.name] != each:
            yield f"{each.name!r} has another key than in the series"
    places = [order.get(each.name, -1) for each in agreement.participants]
    if -1 not in places and places != sorted(set(places)):
        yield "its participants are in another order"
    if len(agreement.participants) < series.varying.least_participants:
        yield (
            f"{len(agreement.participants)} participants are in it, and at least "
            f"{series.varying.least_participants} were agreed on"
        )
    if "rows" not in series.varying.parts and len(order) != len(places):
        yield "rows and owners may not vary, and somebody is missing"


def _nodes(series: Series, agreement: Agreement) -> Found:
    # Not their sealing keys, which are drawn anew for each run, nor certificates, which may be
    # renewed.
    signed = [(each.host, each.port, each.signing_key) for each in series.nodes]
    shown = [(each.host, each.port, each.signing_key) for each in agreement.nodes]
    if signed != shown:
        yield "its nodes, their addresses or keys are not those that were signed"


def _objectives(series: Series, agreement: Agreement) -> Found:
    # The rest of an objective is what costs are protected by: bound, disclosure, what is told.
    shown = [replace(each, owners=[], public_weights=None) for each in agreement.objectives]
    if shown != series.objectives:
        yield "its objectives are not those that were signed (bound, disclosure or what is told)"
    varying = series.varying
    for each in agreement.objectives:
        if not each.confidential:
            continue
        if "rows" not in varying.parts and each.owners != series.owners:
            yield "its owners may not vary"
        # Everybody who takes part has rows of every objective: one alone has nobody to hide among.
        rows = {owner.participant: len(owner.rows) for owner in each.owners}
        for participant in agreement.participants:
            if rows.get(participant.name, 0) < varying.least_each:
                yield f"{participant.name!r} has fewer than {varying.least_each} rows"


def _limits(series: Series, agreement: Agreement) -> Found:
    signed, shown = series.limits, agreement.limits
    if shown.evaluations > signed.evaluations:
        yield f"it allows {shown.evaluations} evaluations, and {signed.evaluations} were agreed on"
    for name in ("population_min", "population_max", "distinct_min"):
        if getattr(shown, name) != getattr(signed, name):
            yield f"its limit {name} is not the one that was signed"


def _names_series(series: Series, agreement: Agreement) -> Found:
    if agreement.series is None or agreement.series.series != series_hash(series):
        yield "it names another series, or none"


def _equity(series: Series, agreement: Agreement) -> Found:
    """The rule is that of the series, and so is what the reference plan follows from.

    The head is held against what each has counted itself, by nodes and participants' machines.
    """
    signed, shown = series.equity, agreement.equity
    if signed is None or shown is None:
        if (signed is None) != (shown is None):
            yield "balances are counted in the series and not in the run, or the other way round"
        return
    if shown.terms != signed:
        yield "its rule of equity, or what is told of it, is not the one that was signed"
    # The platform gives it in each run, so there is nothing to derive it from.
    if signed.reference == "given":
        return
    try:
        expected = first_come(agreement.known_problem)
    except InputError as error:
        yield str(error)
        return
    if shown.reference != expected:
        yield "its reference plan is not first come, first served"


PARTS_OF_PROBLEM = {
    "name": "",
    "kind": "never",
    "rows": "rows",
    "columns": "columns",
    "row_names": "rows",
    "column_names": "columns",
    "forbidden": "forbidden",
    "symmetric": "never",
    "version": "never",
    "data": "data",
}
"""Which part each field of a problem varies with; its name is nobody's concern."""
RULES: dict[str, Callable[[Series, Agreement], Found]] = {
    "format": _nothing,
    "problem": _problem,
    "participants": _participants,
    "nodes": _nodes,
    "objectives": _objectives,
    "limits": _limits,
    "nonce": _nothing,
    **{name: _same(name) for name in AgreedRules.__struct_fields__},
    "series": _names_series,
    "equity": _equity,
}


# From an agreement about one run to a series of runs like it.


def draft_series(
    pattern: Agreement,
    /,
    *,
    name: str,
    nodes: Sequence[SeriesNode],
    platform: str,
    limits: SeriesLimits,
    varying: Varying,
    nonce: str,
    schedule: SeriesSchedule | None = None,
    equity: EquityTerms | None = None,
) -> Series:
    """Draft a series whose runs are like this agreement, ready to be signed.

    Of the agreement everything counts but its nodes, platform, limits and nonce: those of a series
    are given here, since its nodes have drawn no keys yet.
    """
    owners = next((each.owners for each in pattern.objectives if each.confidential), [])
    series = Series(
        format=FORMAT,
        name=name,
        problem=pattern.problem,
        owners=owners,
        participants=pattern.participants,
        nodes=list(nodes),
        objectives=[replace(each, owners=[], public_weights=None) for each in pattern.objectives],
        limits=limits,
        varying=varying,
        schedule=schedule,
        equity=equity,
        nonce=nonce,
        **{**pattern.rules(), "platform": platform},
    )
    check_series(series)
    return series
