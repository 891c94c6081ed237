"""A draft of a series' run, changed: within what was signed, and nothing is left out silently."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tacit.engine.agreement import is_exact
from tacit.engine.series import Series, read_series
from tacit.errors import ServiceError
from tacit.service.api.terms import RunTerms
from tacit.service.storage import read_run, read_standing_series
from tacit.service.workflow.series import fitting_terms, in_order_of_series

OF_EACH_RUN = frozenset({"name", "problem", "participants", "reference", "deadline_seconds"})
"""What a run has of its own; `limits` has both, and everything else is the series'."""

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
    _check_signed(RunTerms.model_validate(series.terms["run"]), terms, made)
    owners = in_order_of_series(session, run.series, terms.participants)
    return terms.model_copy(update={"participants": owners}), made


def fitting_draft(terms: RunTerms, series: Series, /) -> RunTerms:
    """The changed terms with their budget; refused if no run of the series could be made of it."""
    checked = fitting_terms(terms, series)
    if is_exact(series.pattern()):  # whose steps are pinned
        return checked
    most = min(checked.limits.evaluations or series.limits.evaluations, series.limits.evaluations)
    limits = checked.limits.model_copy(update={"evaluations": most})
    return checked.model_copy(update={"limits": limits})


def _check_signed(signed: RunTerms, asked: RunTerms, series: Series) -> None:
    """Refuse what a run of the series would not have, and what the series decides alone.

    The agreement has the search and the limits of the series whatever a draft says, so other ones
    in the draft would be shown and not be true.
    """
    differ = [
        name
        for name in RunTerms.model_fields
        if name not in OF_EACH_RUN | {"limits"} and getattr(asked, name) != getattr(signed, name)
    ]
    differ += [
        name
        for name in LIMITS_OF_SERIES[is_exact(series.pattern())]
        if getattr(asked.limits, name) != getattr(signed.limits, name)
    ]
    if differ:
        raise ServiceError(
            f"{', '.join(differ)}: signed with the series, the same in all its runs; leave it as "
            "it is, or have all sign a new series"
        )
    most = series.limits
    if asked.deadline_seconds > most.deadline_seconds:
        raise ServiceError(
            f"the deadline of a run of this series is {most.deadline_seconds:g} s at most; "
            "all have signed that"
        )
    if (asked.limits.evaluations or 0) > most.evaluations:
        raise ServiceError(
            f"the number of evaluations of a run of this series is {most.evaluations} at most; "
            "all have signed that"
        )
