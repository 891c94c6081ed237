"""Define what a worker reports of its run, over a pipe and into a file.

The folder of a run, `data/runs/<id>/`, holds::

    ledger.jsonl      everything the nodes have revealed, one entry per line
    checkpoint        where the search stood a few seconds ago; checkpoint.previous before that
    report.msgpack    the last report, replaced as a whole
    progress.csv      a line per generation, or fewer if there are many
    parts-0.msgpack   boxes of a plan for its owners, which only they open
    lock              held by the worker, so that a run never has two
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from tacit.client import RunProgress
from tacit.files import replace_file

Stage = Literal["ready", "running", "ended", "failed"]
REPORT, LOCK = "report.msgpack", "lock"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands; `plans` are the best-known ones, the one to use first."""

    stage: Stage
    seed: int | None = None
    """What the search follows from; known once the nodes are there."""
    generation: int = -1
    """Of a sealed run, its steps."""
    steps: int | None = None
    """How many steps a sealed run has, after which it ends."""
    evaluations: int = 0
    seconds: float = 0.0
    evaluations_per_second: float = 0.0
    best: list[float | bool | None] = []
    """The best that each objective has disclosed so far, in the users' unit."""
    disclosed: list[float | bool | None] = []
    """What each disclosed in the generation that the plans come from."""
    plans: list[list[int]] = []
    values: list[list[float | None]] = []
    """Of each of these plans, what was disclosed of its own values, in the users' unit."""
    for_owners: bool = False
    """Whether the plans were opened to their owners, so that none is here."""
    proved: bool | None = None
    """Whether these are proved to be optima, where the nodes prove it."""
    searches: list[int] = []
    """Of a sealed run, the numbers of the weightings that these were opened for."""
    gaps: list[float] | None = None
    """By at most how much each is worse than the optimum, where that was agreed."""
    stopped: str = ""
    """Why the search ended: a `StopReason`."""
    notes: list[str] = []
    at: float = 0.0
    """When this was so, in seconds since 1970: an old report is the last of a run that stalls."""
    error: str = ""
    can_retry: bool = False
    """Whether the same may work later."""

    @property
    def is_over(self) -> bool:
        """Whether the search has ended for good."""
        return self.stage == "ended" and not self.can_retry

    def progress(self) -> RunProgress:
        """What watchers see."""
        return RunProgress(
            generation=self.generation,
            steps=self.steps,
            evaluations=self.evaluations,
            evaluations_per_second=round(self.evaluations_per_second, 2),
            best=self.best,
            seconds=round(self.seconds, 3),
            at=round(self.at, 3),
        )


_READ = msgspec.msgpack.Decoder(Report)


class RunRequest(msgspec.Struct, frozen=True):
    """What a worker needs to know of its run."""

    run_id: str
    folder: str
    cluster: str
    """The path of the cluster's cluster.toml."""
    agreement: bytes
    signatures: dict[str, bytes]
    manifests: dict[int, list[bytes]]
    public: dict[int, list[list[int]]] = {}
    """The weights of public objectives."""


def run_folder(data: Path, run_id: str, /) -> Path:
    """Where a run's files are."""
    return data / "runs" / run_id


def write_report(folder: Path, report: Report, /) -> None:
    """Replace the last report. A crash leaves the old one or the new one."""
    replace_file(folder / REPORT, msgspec.msgpack.encode(report))


def read_report(folder: Path, /) -> Report | None:
    """The last report, or None if there is none that can be read."""
    try:
        return decode_report((folder / REPORT).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None


def decode_report(data: bytes, /) -> Report:
    """A report as it is in the file and comes over the pipe."""
    return _READ.decode(data)
