"""What this machine has signed of series, and which runs of them it has taken.

::

    series/SERIES/series.json   what this machine signed, canonical
    series/SERIES/reviewed      the hash that it showed last for a review
    series/SERIES/runs.jsonl    the runs that it signed, by number, and when
    series/SERIES/stopped       why it signs nothing more, until somebody removes this file
    series/checked              the runs whose logs were checked, one line each
    series/stored               the runs whose plans were stored, one line each
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

from tacit.engine.agreement import Agreement, agreement_hash, canonical
from tacit.engine.series import RunRecord, Series, TakenRun, read_series, series_hash
from tacit.errors import AgreementError, FileError, InputError, TrustError
from tacit.files import check_secret
from tacit.participant.account.private_files import changing, replace_private
from tacit.participant.account.profile import Profile

_SERIES = re.compile(r"s-[a-z2-7]{10}", re.ASCII)


def folder_of_series(profile: Profile, series_id: str, /) -> Path:
    """Where a series is kept."""
    if not _SERIES.fullmatch(series_id):
        raise InputError(
            f"{series_id[:70]!r} is not a series; tacit participant series lists yours"
        )
    return profile.folder / "series" / series_id


def signed_series(profile: Profile, series_id: str, /) -> Series | None:
    """The series that this machine signed under this name, or None."""
    path = folder_of_series(profile, series_id) / "series.json"
    if not path.exists():
        return None
    check_secret(path, remedy="chmod 600 it")
    try:
        return read_series(path.read_bytes())
    except AgreementError as error:
        raise FileError(path, None, "was changed", f"restore it: {error}") from None


def keep_series(profile: Profile, series_id: str, series: Series, /) -> None:
    """Remember what is about to be signed."""
    path = folder_of_series(profile, series_id) / "series.json"
    replace_private(path, canonical(series))


def reviewed_series(profile: Profile, series_id: str, /) -> str | None:
    """The hash of the series that this machine has shown last, before it is signed."""
    path = folder_of_series(profile, series_id) / "reviewed"
    return path.read_text().strip() if path.exists() else None


def keep_reviewed_series(profile: Profile, series_id: str, digest: str, /) -> None:
    """Remember which series somebody has read."""
    replace_private(folder_of_series(profile, series_id) / "reviewed", f"{digest}\n".encode())


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


def checked_runs(profile: Profile, /) -> list[str]:
    """The runs whose logs were checked by whoever follows their series."""
    return _marked(profile, "checked")


def is_checked(profile: Profile, run: str, /) -> bool:
    """Whether the logs of a run were checked by whoever follows its series."""
    return run in checked_runs(profile)


def mark_checked(profile: Profile, run: str, /) -> None:
    """Remember that the logs of a run were checked."""
    _mark(profile, "checked", run)


def is_stored(profile: Profile, run: str, /) -> bool:
    """Whether the plan of a run was stored, wherever its file may be now."""
    return run in _marked(profile, "stored")


def mark_stored(profile: Profile, run: str, /) -> None:
    """Remember that the plan of a run was stored."""
    _mark(profile, "stored", run)


def _marked(profile: Profile, name: str) -> list[str]:
    path = profile.folder / "series" / name
    return path.read_text().split() if path.exists() else []


def _mark(profile: Profile, name: str, run: str) -> None:
    path = profile.folder / "series" / name
    with changing(path):
        lines = "".join(f"{each}\n" for each in [*_marked(profile, name), run])
        replace_private(path, lines.encode())


def record_of(profile: Profile, series_id: str, /) -> RunRecord:
    """The runs of a series that this machine signed."""
    return RunRecord(folder_of_series(profile, series_id) / "runs.jsonl")


def as_taken(run: str, agreement: Agreement, /) -> TakenRun:
    """A run of a series as the record has it, now."""
    assert agreement.series is not None
    digest = agreement_hash(agreement).hex()
    return TakenRun(agreement.series.number, digest, time.time(), run)
