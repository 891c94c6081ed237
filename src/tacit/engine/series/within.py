"""Whether a run is within its series: every part of the agreement is held against what was signed.

There is one rule per field of an agreement, so that none can be added without saying what a series
has to say about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from tacit.engine.agreement.equity.check import first_come
from tacit.engine.agreement.terms import Agreement
from tacit.engine.series.terms import Series, series_hash
from tacit.errors import AgreementError, InputError
from tacit.problems import PublicProblem

CLOCK_SECONDS = 120.0
"""By so much the clock of whoever drew up a run may be ahead."""
Found = Iterator[str]


def departures(series: Series, agreement: Agreement, /, *, now: float) -> list[str]:
    """Everything in a run that is not within what was signed; empty if all is."""
    found = [why for rule in RULES.values() for why in rule(series, agreement)]
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
    """Anything goes: it is drawn for each run, or checked wherever agreements are."""
    return iter(())


def _same(name: str) -> Callable[[Series, Agreement], Found]:
    """What must be as the series has it."""

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
    signed = [(each.host, each.port, each.signing_key) for each in series.nodes]
    shown = [(each.host, each.port, each.signing_key) for each in agreement.nodes]
    if signed != shown:
        yield "its nodes, their addresses or keys are not those that were signed"


def _objectives(series: Series, agreement: Agreement) -> Found:
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
    "platform": _same("platform"),
    "objectives": _objectives,
    "search": _same("search"),
    "limits": _limits,
    "reveal_best": _same("reveal_best"),
    "nonce": _nothing,
    "on_loss": _same("on_loss"),
    "grace_seconds": _same("grace_seconds"),
    "plan": _same("plan"),
    "front": _same("front"),
    "series": _names_series,
    "equity": _equity,
}
