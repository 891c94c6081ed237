"""Keep the series that this machine signed, a record per run, and what counted for balances.

::

    series/SERIES/series.json   what this machine signed, canonical
    series/SERIES/reviewed      the hash that it showed last for a review
    series/SERIES/runs.jsonl    one line per run that it signed (`FollowedRun`)
    series/SERIES/stopped       why it signs nothing more, until somebody removes this file
    series/SERIES/lock          held by the process that follows the series

A record begins when a run is signed, and stays as long as the series: a platform that waits, or
that names an old run again, must find that this machine remembers.

A run must follow the runs that counted before it. The head of their chain is known here up to the
last run whose logs were checked, so a head that was followed before shows that somebody was set
back. Of runs without this participant nothing is known here: after one, the nodes alone decide.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tacit.agreement import (
    Agreement,
    Series,
    TakenRun,
    agreement_hash,
    canonical,
    open_told,
    read_series,
    series_hash,
)
from tacit.equity import FINENESS, FIRST_HEAD, MEAN, NEUTRAL, SPREAD, UNIT
from tacit.errors import AgreementError, FileError, InputError, SealError, TrustError
from tacit.files import check_secret
from tacit.participant.profile import Profile, changing, replace_private
from tacit.records import Log
from tacit.verify import counted_run, surely_counted

MOST_UNSEEN = 3
"""With so many runs whose logs were never shown, nothing more is signed."""
_SERIES = re.compile(r"s-[a-z2-7]{10}", re.ASCII)


class CountedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A run that counts for balances, by its checked logs."""

    number: int
    run: str
    before: str
    """The head that it follows."""
    head: str
    participants: int
    opened: dict[str, int] = {}
    saved: int | None = None
    """In 128ths of what could be saved; None if nothing was disclosed."""
    factor: int | None = None
    balance: int | None = None


class FollowedRun(TakenRun, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All that this machine remembers of a run of a series, from when it signs it."""

    checked: bool = False
    """Whether its logs were checked, and prove nothing against anybody."""
    stored: bool = False
    """Whether its plan was stored, wherever that file may be now."""
    counted: CountedRun | None = None


_READ = msgspec.json.Decoder(FollowedRun)


def folder_of_series(profile: Profile, series_id: str, /) -> Path:
    # The name comes from the platform and becomes part of a path.
    if not _SERIES.fullmatch(series_id):
        raise InputError(
            f"{series_id[:70]!r} is not a series; tacit participant series lists yours"
        )
    return profile.folder / "series" / series_id


# The series.


def signed_series(profile: Profile, series_id: str, /) -> Series | None:
    """The series that this machine signed under this name, or None."""
    path = folder_of_series(profile, series_id) / "series.json"
    if not path.exists():
        return None
    # Whoever can write this file decides what this machine signs by itself.
    check_secret(path, remedy="chmod 600 it")
    try:
        return read_series(path.read_bytes())
    except AgreementError as error:
        raise FileError(path, None, "was changed", f"restore it: {error}") from None


def keep_series(profile: Profile, series_id: str, series: Series, /) -> None:
    path = folder_of_series(profile, series_id) / "series.json"
    replace_private(path, canonical(series))


def all_signed_series(profile: Profile, /) -> Iterator[tuple[str, Series]]:
    """The series that this machine signed, with what each is called here."""
    for path in sorted((profile.folder / "series").glob("s-*/series.json")):
        series = signed_series(profile, path.parent.name)
        if series is not None:
            yield path.parent.name, series


def series_named(profile: Profile, digest: str, /) -> tuple[str, Series] | None:
    """The series with this hash, if this machine signed it, and what it is called here."""
    signed = all_signed_series(profile)
    return next((each for each in signed if series_hash(each[1]) == digest), None)


def stop_following(profile: Profile, series_id: str, why: str, /) -> None:
    """Sign nothing more of a series, also after a restart."""
    replace_private(folder_of_series(profile, series_id) / "stopped", f"{why}\n".encode())


def check_not_stopped(profile: Profile, series_id: str, /) -> None:
    """Refuse to go on where logs contradicted what was signed."""
    path = folder_of_series(profile, series_id) / "stopped"
    if path.exists():
        raise TrustError(
            f"series {series_id} is not followed any more, since the logs of a run contradict what "
            f"was signed ({path.read_text().strip()}); talk to the others, and remove {path} to "
            "go on"
        )


# Its runs.


def as_followed(run: str, agreement: Agreement, /) -> FollowedRun:
    assert agreement.series is not None
    digest = agreement_hash(agreement).hex()
    return FollowedRun(agreement.series.number, digest, time.time(), run)


def followed_runs(profile: Profile, series_id: str, /) -> list[FollowedRun]:
    """The records of a series' runs, in the order in which they were signed."""
    path = folder_of_series(profile, series_id) / "runs.jsonl"
    if not path.exists():
        return []
    try:
        return [_READ.decode(line) for line in path.read_bytes().splitlines()]
    except msgspec.DecodeError as error:
        remedy = "restore it from a backup, or sign a new series"
        raise FileError(path, None, f"was changed ({error})", remedy) from None


def keep_run(
    profile: Profile,
    run: str,
    agreement: Agreement,
    /,
    *,
    checked: bool = False,
    stored: bool = False,
    counted: CountedRun | None = None,
) -> None:
    """Write what is new of a run of a series into its record; nothing for a run of none."""
    named = None if agreement.series is None else agreement.series.series
    found = None if named is None else series_named(profile, named)
    if found is None:
        return
    path = folder_of_series(profile, found[0]) / "runs.jsonl"
    # `follow` and `tacit participant log` may both write: without the lock one of them would
    # write back records that lack what the other has just added.
    with changing(path):
        records = {each.run: each for each in followed_runs(profile, found[0])}
        known = records.get(run) or as_followed(run, agreement)
        # Marks are only added: a process that writes late must not take back what another has set.
        records[run] = replace(
            known,
            checked=checked or known.checked,
            stored=stored or known.stored,
            counted=counted or known.counted,
        )
        lines = [msgspec.json.encode(each) + b"\n" for each in records.values()]
        replace_private(path, b"".join(lines))


def counted_runs(profile: Profile, series_id: str, /) -> list[CountedRun]:
    """The runs of a series that are known to count, by their numbers: logs may be checked late."""
    found = [each.counted for each in followed_runs(profile, series_id)]
    return sorted((each for each in found if each is not None), key=lambda each: each.number)


# Runs whose logs nobody has shown. A platform can call a finished run failed, keep it running for
# ever or leave it out of its list, and withhold the logs: then nobody sees what was asked of the
# nodes. So these records count, and not what the platform says of a run.


def is_sealed_here(profile: Profile, run: str, /) -> bool:
    """Return whether this machine has sealed costs for a run, so that it can have begun."""
    agreement = profile.signed_agreement(run)
    objectives = [] if agreement is None else agreement.confidential()
    return any(profile.manifests(run, k) for k in objectives)


def unseen_runs(profile: Profile, series_id: str, /, *, seen: Collection[str] = ()) -> list[str]:
    """The runs that took costs and whose logs were not checked, the oldest first, but for `seen`.

    However old they are, so that a platform gains nothing by waiting between them.
    """
    # From the records on this machine: a platform may leave runs out of its list.
    unchecked = (each.run for each in followed_runs(profile, series_id) if not each.checked)
    return [run for run in unchecked if run not in seen and is_sealed_here(profile, run)]


def unseen_words(runs: Collection[str], /) -> str:
    return (
        f"the logs of {', '.join(sorted(runs))} were never shown, and your costs were sealed for "
        "them: what the nodes were asked there is not known; ask the others and the nodes' "
        "operators for the logs, or allow more with --unseen"
    )


def keep_balance(
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
    return [*balance_lines(made), *trouble]


def known_balances(profile: Profile, series_id: str, /) -> list[CountedRun]:
    """List what the checked runs of a series disclosed of balances."""
    signed = signed_series(profile, series_id)
    if signed is None:
        raise InputError(
            f"this machine has not signed series {series_id}; tacit participant series lists yours"
        )
    if signed.equity is None:
        raise InputError(f"series {series_id} keeps no balances; each of its runs is for itself")
    return counted_runs(profile, series_id)


def balance_of_run(profile: Profile, run: str, agreement: Agreement, /) -> CountedRun | None:
    """Find what a run of a series disclosed of balances, if its logs were checked here."""
    found = None if agreement.series is None else series_named(profile, agreement.series.series)
    known = [] if found is None else counted_runs(profile, found[0])
    return next((each for each in known if each.run == run), None)


def head_refusals(profile: Profile, series_id: str, agreement: Agreement, /) -> list[str]:
    """Explain why a run does not follow the runs that are known here to count."""
    if agreement.equity is None or agreement.series is None:
        return []
    known, head = counted_runs(profile, series_id), agreement.equity.head
    if not known and head == FIRST_HEAD:
        return []  # the first run that counts
    # A head that another run has followed already would leave that run out of everybody's balance.
    if head == FIRST_HEAD or any(head == each.before for each in known):
        return [
            f"it does not follow run {known[-1].number}, which counts: balances would lack it, so "
            "somebody's books were set back"
        ]
    if known and head == known[-1].head:
        return []
    # An unknown head: runs without this participant may lie in between, which it cannot check. If
    # it signed all runs in between, it should know their heads from their logs.
    last = max((each.number for each in known), default=0)
    signed = {each.number: each.run for each in followed_runs(profile, series_id)}
    between = range(last + 1, agreement.series.number)
    if all(number in signed for number in between):
        unchecked = ", ".join(signed[number] for number in between)
        remedy = f"; check their logs first: tacit participant log {unchecked}" if unchecked else ""
        return [f"it follows runs that are not known here to count{remedy}"]
    return []


def balance_words(account: CountedRun, /) -> list[str]:
    return balance_lines(account) or ["counts, and tells nothing"]


def balance_lines(account: CountedRun, /) -> list[str]:
    """Say in words what a run disclosed of balances."""
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
