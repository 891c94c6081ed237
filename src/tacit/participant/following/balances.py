"""What this machine knows of the runs that counted, and of its own balance.

A run must follow the runs that counted before it. The head of their chain is known here up to the
last run whose logs were checked, so a head that was followed before shows that somebody was set
back. Of runs without this participant nothing is known here: after one, the nodes alone decide.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tacit.agreement import Agreement, open_told
from tacit.equity import FINENESS, FIRST_HEAD, MEAN, NEUTRAL, SPREAD, UNIT
from tacit.errors import SealError
from tacit.participant.account.profile import Profile
from tacit.participant.following.run_records import (
    CountedRun,
    counted_runs,
    followed_runs,
    keep_run,
    series_named,
)
from tacit.records import Log
from tacit.verify import counted_run, surely_counted


def keep_account(
    profile: Profile, run: str, agreement: Agreement, logs: Sequence[Log], /
) -> list[str]:
    """Write down what checked logs say of a run that surely counts, and put it in words."""
    event = surely_counted(agreement, logs)
    if agreement.equity is None or agreement.series is None or event is None:
        return []
    made = CountedRun(
        event.number,
        run,
        agreement.equity.head,
        event.head,
        len(event.participants),
        dict(event.opened),
    )
    name, trouble = profile.account, []
    if event.boxes and name in event.participants:
        place = event.participants.index(name)
        events = {node: counted_run([log]) for node, log in enumerate(logs)}
        boxes = {n: e.boxes[place] for n, e in events.items() if e is not None and e.boxes}
        try:
            own = open_told(agreement, name, boxes, place=event.place, key=profile.keys().signing)
        except SealError as error:
            trouble = [f"your balance was not told: {error}"]
        else:
            made = msgspec.structs.replace(
                made, saved=own.saved, factor=own.factor, balance=own.balance
            )
    keep_run(profile, run, agreement, counted=made)
    return [*account_lines(made), *trouble]


def account_of_run(profile: Profile, run: str, agreement: Agreement, /) -> CountedRun | None:
    """What is known here of a run of a series with equity."""
    found = None if agreement.series is None else series_named(profile, agreement.series.series)
    known = [] if found is None else counted_runs(profile, found[0])
    return next((each for each in known if each.run == run), None)


def head_refusals(profile: Profile, series_id: str, agreement: Agreement, /) -> list[str]:
    """Why a run does not follow the runs that are known here to count."""
    if agreement.equity is None or agreement.series is None:
        return []
    known, head = counted_runs(profile, series_id), agreement.equity.head
    if not known and head == FIRST_HEAD:
        return []
    if head == FIRST_HEAD or any(head == each.before for each in known):
        return [
            f"it does not follow run {known[-1].number}, which counts: balances would lack it, so "
            "somebody's books were set back"
        ]
    if known and head == known[-1].head:
        return []
    last = max((each.number for each in known), default=0)
    signed = {each.number: each.run for each in followed_runs(profile, series_id)}
    between = range(last + 1, agreement.series.number)
    if all(number in signed for number in between):
        unchecked = ", ".join(signed[number] for number in between)
        remedy = f"; check their logs first: tacit participant log {unchecked}" if unchecked else ""
        return [f"it follows runs that are not known here to count{remedy}"]
    return []


def account_words(account: CountedRun, /) -> list[str]:
    """What is told of a run, in words; also that nothing is."""
    return account_lines(account) or ["counts, and tells nothing"]


def account_lines(account: CountedRun, /) -> list[str]:
    """What is told of a run, in words."""
    lines = []
    if account.saved is not None and account.factor is not None:
        level = account.factor - NEUTRAL
        lines.append(
            f"you saved {account.saved}/{FINENESS} of what you could; your level was {level:+d}, "
            f"so your costs counted {account.factor}/{NEUTRAL}"
        )
    if account.balance is not None:
        side = "ahead" if account.balance > 0 else "behind" if account.balance else "even"
        lines.append(f"your balance is {abs(_in_parts(account.balance)):.1f}/{FINENESS} {side}")
    if MEAN in account.opened:
        mean = account.opened[MEAN] / account.participants
        lines.append(f"all saved {mean:.1f}/{FINENESS} on average")
    if SPREAD in account.opened:
        lines.append(f"balances are {_in_parts(account.opened[SPREAD]):.1f}/{FINENESS} apart")
    return lines


def _in_parts(balance: int) -> float:
    """A balance in 128ths of one run's saved share."""
    return balance / (2 * UNIT)
