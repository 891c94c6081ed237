"""Whether a series makes sense, before anybody signs it and before a node takes a run of it."""

from __future__ import annotations

from tacit.engine.agreement.check import check_agreement, check_name
from tacit.engine.agreement.sealed import sealed_terms
from tacit.engine.series.terms import Series
from tacit.errors import AgreementError
from tacit.mpc.equity import LEAST_PARTICIPANTS
from tacit.search.moves import AssignmentParameters

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
    if series.search.seed is not None:
        raise AgreementError("the seed of a series is drawn in each run by the nodes; leave it out")
    _check_varying(series)
    _check_limits(series)
    _check_schedule(series)
    _check_equity(series)


def _check_equity(series: Series) -> None:
    """What holds for single runs is checked with the pattern."""
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
    if not pattern.sealed:
        return
    settings = sealed_terms(pattern).parameters
    if isinstance(settings, AssignmentParameters):
        _check_seconds(settings.seconds, limits.deadline_seconds)


def _check_seconds(seconds: int, deadline: float) -> None:
    """By these nodes know that the deadline of a run has come, and open early plans too."""
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
