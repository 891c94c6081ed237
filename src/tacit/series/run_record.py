"""Which runs of a series were taken, and when: every node and every participant keeps a record.

Each decides by its own record and its own clock, so that a platform which replays a run, uses a
number twice, goes back to an earlier one or starts runs more often than was signed needs all of
them to have forgotten. A line is on the disk before the run counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tacit.errors import FileError
from tacit.files import replace_secret, writing

DAY = 86400.0
PACE_SECONDS = DAY - 1800.0
"""Runs of a day are counted in any so long a time. In 24 hours a run that is due every day would be
too many whenever it is taken a second earlier than the day before; it may be half an hour."""
KEEP_SECONDS = 8 * DAY
"""More than the agreement of a run is valid for."""


class TakenRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run that was signed, or taken by a node."""

    number: int
    agreement: str
    """Its hash, in hexadecimal."""
    at: float
    """Seconds since 1970, by the clock of whoever writes it down."""
    run: str = ""
    """What the platform calls it, where that is known."""


_READ = msgspec.json.Decoder(TakenRun)


def objection_to_run(taken: Sequence[TakenRun], new: TakenRun, /) -> str | None:
    """Why a run never follows those that were taken; None if it may, or was taken before.

    >>> first = TakenRun(1, "aa", 0.0)
    >>> objection_to_run([first], TakenRun(1, "bb", 9.0))
    'number 1 of the series was used for another run'
    >>> objection_to_run([first], TakenRun(2, "bb", 9.0))
    """
    for each in taken:
        if each.agreement == new.agreement:
            again = each.run != new.run
            return "the same run was taken under another name before" if again else None
    last = max((each.number for each in taken), default=0)
    if any(each.number == new.number for each in taken):
        return f"number {new.number} of the series was used for another run"
    if new.number < last:
        return f"run {last} of the series was taken already, and runs follow each other"
    return None


def objection_to_pace(
    taken: Sequence[TakenRun], new: TakenRun, /, *, runs_per_day: int
) -> str | None:
    """Why a run comes too soon after others; None if it does not, or was taken before.

    >>> first = TakenRun(1, "aa", 0.0)
    >>> objection_to_pace([first], TakenRun(2, "bb", 9.0), runs_per_day=1)
    '1 runs of the series were taken in the last 23.5 hours, and no more were agreed on'
    >>> objection_to_pace([first], TakenRun(2, "bb", 86390.0), runs_per_day=1)
    """
    if any(each.agreement == new.agreement for each in taken):
        return None
    recent = sum(each.at > new.at - PACE_SECONDS for each in taken)
    if recent >= runs_per_day:
        return (
            f"{recent} runs of the series were taken in the last {PACE_SECONDS / 3600:g} hours, "
            "and no more were agreed on"
        )
    return None


class RunRecord:
    """A file with one line per run, whole or not at all."""

    def __init__(self, path: Path, /) -> None:
        self._path = path

    def runs(self) -> list[TakenRun]:
        """Those that were taken lately, and the last one, the oldest first."""
        if not self._path.exists():
            return []
        try:
            lines = self._path.read_bytes().splitlines()
            return [_READ.decode(line) for line in lines]
        except msgspec.DecodeError as error:
            remedy = "restore it from a backup, or sign a new series"
            raise FileError(self._path, None, f"was changed ({error})", remedy) from None

    def add(self, new: TakenRun, /) -> None:
        """Write a run down for good, once, however often it is taken."""
        known = self.runs()
        if any(each.agreement == new.agreement for each in known):
            return
        # The agreement of an older run has expired, and its number is below the last.
        kept = [each for each in known if each.at > new.at - KEEP_SECONDS]
        data = b"".join(msgspec.json.encode(each) + b"\n" for each in [*kept, new])
        with writing(self._path, remedy="make room"):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_secret(self._path, data)
