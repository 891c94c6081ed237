"""One fault after the other: runs begin, a fault is struck and healed, and invariants are checked.

Everything that is drawn for a fault comes from its seed: the kind, whom it strikes, how long it
lasts, and at which moment of the runs it comes. So one seed repeats one fault.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from tests.faults import invariants
from tests.faults.arena import Arena
from tests.faults.faults import KINDS, Fault
from tests.faults.runs import KINDS as RUNS
from tests.faults.runs import Run
from tests.support.cpu_waits import CpuWaits

DEADLINES = (4.0, 8.0)
AT_A_TIME = 2
SAMPLE_SECONDS = 0.1
MOMENTS = ("before", "signed", "running", "running", "running", "running", "end")
"""When a fault is struck, as seen from the first of the runs."""
REACHED_SECONDS = 120.0


@dataclass
class Episode:
    """A fault and what came of it."""

    seed: int
    arena: str
    fault: str
    moment: str
    seconds: float
    """From the strike until it was healed."""
    runs: list[str] = field(default_factory=list)
    """Kind and end of each."""
    resumed: int = 0
    back_after: float = 0.0
    """Seconds until the platform reached all nodes again."""
    took: float = 0.0
    waited: float = 0.0
    """For a core, by all threads together, while the fault lasted and the runs ended."""
    notes: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


class Harness:
    """Strikes an arena; what it has seen of it adds up."""

    def __init__(
        self,
        arena: Arena,
        kinds: Sequence[str],
        *,
        at_a_time: int = AT_A_TIME,
        deadlines: tuple[float, float] = DEADLINES,
        run_kinds: Sequence[str] = RUNS,
    ) -> None:
        self.arena, self._kinds = arena, list(kinds)
        self._at_a_time, self._deadlines, self._run_kinds = at_a_time, deadlines, list(run_kinds)
        self.sizes = invariants.Sizes(arena)
        self._runs: list[Run] = []
        with arena.client() as client:
            self._others = {each.id for each in client.runs.all()}
        """Runs that were there before, which are somebody else's."""
        self._keys = invariants.sealing_keys(arena)

    def episode(self, seed: int) -> Episode:
        """One fault, from the first draft to the last check."""
        chance = random.Random(seed)
        kind = self._kinds[seed % len(self._kinds)]
        fault = KINDS[kind](self.arena, chance)
        moment = chance.choice(MOMENTS)
        made = Episode(seed, self.arena.name, fault.what, moment, fault.seconds)
        begun = time.monotonic()
        with CpuWaits(time.time, every=SAMPLE_SECONDS) as waits:
            try:
                self._strike(fault, moment, chance, made, waits)
            except Exception as error:
                made.violations.append(f"the harness stopped: {type(error).__name__}: {error}")
        made.took = round(time.monotonic() - begun, 1)
        made.notes += sorted(set(fault.notes))
        return made

    def _strike(
        self, fault: Fault, moment: str, chance: random.Random, made: Episode, waits: CpuWaits
    ) -> None:
        fault.prepare()
        self.arena.wait_until_healthy()
        calm = threading.Event()
        runs = [self._new_run(chance, calm) for _ in range(self._at_a_time)]
        for run in runs:
            run.start()
        struck = healed = time.time()
        try:
            self._await(moment, runs[0])
            time.sleep(chance.uniform(0.0, runs[0].lasts if moment == "running" else 0.5))
            struck = time.time()
            fault.strike()
            time.sleep(fault.seconds)
        finally:
            fault.heal()
            made.back_after = round(self.arena.wait_until_healthy(), 1)
            healed = time.time()
            calm.set()
        for run in runs:
            run.over.wait()
        self.sizes.look()
        made.resumed = sum(len(run.reasons) for run in runs)
        made.runs = [f"{run.kind} {run.state}" for run in runs]
        made.waited = round(waits.between(struck, time.time()), 1)
        for run in runs:
            made.notes += [f"{run.kind}: interrupted: {each}" for each in run.reasons]
            made.notes += [f"{run.kind}: sealed again: {each}" for each in run.refused]
            made.violations += invariants.check_run(run, self.arena, fault, waits, (struck, healed))
        made.violations += invariants.erased(runs, self.arena, self._keys)
        made.violations += invariants.nothing_left_behind(self._runs, self._others, self.arena)
        made.violations += self.sizes.check(len(self._runs))
        fault.clear()

    def _new_run(self, chance: random.Random, calm: threading.Event) -> Run:
        run = Run(
            self.arena,
            chance.choice(self._run_kinds),
            seed=chance.randrange(2**32),
            deadline=round(chance.uniform(*self._deadlines), 1),
            calm=calm,
        )
        self._runs.append(run)
        return run

    def _await(self, moment: str, run: Run) -> None:
        reached = {"signed": run.agreed, "running": run.running, "end": run.stopped}
        if moment in reached:
            reached[moment].wait(REACHED_SECONDS)

    def finish(self) -> list[str]:
        """Say which run shows another result than when it ended: none may, whatever came later."""
        with self.arena.client() as client:
            return [
                f"{run.id} ({run.kind}) shows another result than when it ended"
                for run in self._runs
                if run.result is not None and client.runs.result(run.id) != run.result
            ]

    def figures(self) -> dict[str, object]:
        """Memory and disk, as they were at most."""
        with suppress(OSError):
            self.sizes.look()
        return {
            "arena": self.arena.name,
            "runs": len(self._runs),
            "most_megabytes": {k: round(v, 1) for k, v in self.sizes.megabytes.items()},
            "kilobytes_per_run": {k: round(v, 1) for k, v in self.sizes.kilobytes_per_run.items()},
        }


def line_of(episode: Episode) -> str:
    """An episode in one line."""
    ends = ", ".join(episode.runs)
    resumed = f", {episode.resumed} resumed" if episode.resumed else ""
    mark = "ok " if not episode.violations else "BAD"
    return (
        f"{mark} seed {episode.seed:<5} {episode.arena:<19} {episode.fault} "
        f"({episode.moment}, {episode.seconds:.1f} s): {ends}{resumed}; "
        f"back after {episode.back_after:.1f} s, {episode.took:.0f} s in all"
    )


def show(episode: Episode) -> None:
    """Print an episode with what was wrong with it."""
    print(line_of(episode), flush=True)
    for what in episode.violations:
        print(f"      {what}", flush=True)
    for note in episode.notes:
        print(f"      note: {note}", file=sys.stderr, flush=True)


def as_json(episode: Episode) -> dict[str, object]:
    """All of an episode, for a file of figures."""
    return asdict(episode)
