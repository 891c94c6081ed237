"""Runs are saved, stopped and resumed; other files are refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.errors import FileError, ParameterError
from tacit.evaluators import SeparateObjectives
from tacit.problems import Assignment, Evaluation, generate_assignment
from tacit.runs import (
    Checkpointing,
    EvaluatingDriver,
    Progress,
    StopReason,
    drive,
    with_disclosures,
)
from tacit.runs.checkpoint import (
    FORMAT,
    problem_digest,
    save_checkpoint,
)
from tacit.runs.result import Timing
from tests.runs.checkpointed import KINDS, LAST, SMALL, fresh_run, resume_from, without_timing
from tests.runs.clock import DrivenClock
from tests.runs.flat import solve_with


@pytest.mark.parametrize("kind", KINDS)
def test_stopped_after_any_generation_and_resumed(kind: str, tmp_path: Path) -> None:
    problem, options = KINDS[kind]
    whole = without_timing(problem, generations=LAST, **options)
    for stop in range(LAST + 1):
        file = tmp_path / f"{stop}.checkpoint"
        limit = {"generations": stop} if stop % 2 else {"evaluations": stop + 1}
        without_timing(problem, **limit, **options, checkpointing=Checkpointing(file=file))
        resumed = without_timing(
            problem, generations=LAST, **options, checkpointing=Checkpointing(resume=file)
        )
        assert resumed == whole


@pytest.mark.parametrize("kind", ["none", "improvement"])
def test_interrupted_in_an_observer_and_resumed(kind: str, tmp_path: Path) -> None:
    problem, options = KINDS[kind]
    whole = without_timing(problem, generations=LAST, **options)
    for stop in range(LAST):
        file = tmp_path / f"{stop}.checkpoint"

        def interrupt(view: Progress, stop: int = stop) -> None:
            if view.generation == stop:
                raise KeyboardInterrupt

        stopped = solve_with(
            problem,
            seed=3,
            generations=LAST,
            **options,
            observe=interrupt,
            checkpointing=Checkpointing(file=file),
        )
        assert (stopped.stopped, stopped.generations) == ("interrupted", stop)
        resumed = without_timing(
            problem, generations=LAST, **options, checkpointing=Checkpointing(resume=file)
        )
        assert resumed == whole


class InterruptedEvaluator(SeparateObjectives):
    """Evaluates, and is interrupted before it can say what it found."""

    def __init__(self, inner: SeparateObjectives, at: int) -> None:
        super().__init__(inner.objectives)
        self.inner, self._left = inner, at

    def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
        told = self.inner.evaluate(candidates, until=until)
        if self._left == 0:
            raise KeyboardInterrupt
        self._left -= 1
        return told


def stands_at(run: EvaluatingDriver) -> tuple[Any, ...]:
    """Everything of a run that a result is made of, times apart."""
    now = run.now
    assert now.best_known is not None
    return (
        now.search.genomes.tolist(),
        now.search.estimates.tolist(),
        now.search.crowding.tolist(),
        now.random,
        now.evaluations,
        now.stalled_for,
        now.best_so_far,
        now.best_known.genomes.tolist(),
        [msgspec.structs.replace(record, seconds=0.0) for record in run.history],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_inside_an_evaluation_and_resumed(kind: str, tmp_path: Path) -> None:
    whole = fresh_run(kind)
    assert drive(whole) == "generations"
    for at in range(1, LAST + 1):
        stopped = fresh_run(kind, partial(InterruptedEvaluator, at=at))
        assert drive(stopped) == "interrupted"
        assert stopped.now.search.generation == at - 1
        file = tmp_path / f"{at}.checkpoint"
        save_checkpoint(stopped, file)
        resumed = fresh_run(kind)
        resume_from(file, resumed)
        drive(resumed)
        assert stands_at(resumed) == stands_at(whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [0, 5])
def test_an_interrupted_run_goes_on_by_itself(kind: str, at: int) -> None:
    whole = fresh_run(kind)
    drive(whole)
    stopped = fresh_run(kind, partial(InterruptedEvaluator, at=at))
    assert drive(stopped) is StopReason.INTERRUPTED
    assert isinstance(stopped.evaluator, InterruptedEvaluator)
    stopped.evaluator = stopped.evaluator.inner
    drive(stopped)
    assert stands_at(stopped) == stands_at(whole)


def test_an_interrupt_before_the_first_result_is_passed_on(tmp_path: Path) -> None:
    run = fresh_run("none", lambda inner: InterruptedEvaluator(inner, 0))
    assert drive(run) == "interrupted"
    file = tmp_path / "none.checkpoint"
    save_checkpoint(run, file)
    assert not file.exists(), "there is nothing to save"


def test_checkpoints_are_written_every_so_often_and_at_the_end(tmp_path: Path) -> None:
    problem, options = KINDS["none"]
    file = tmp_path / "run.checkpoint"
    seen: list[bytes] = []

    def remember(view: Progress) -> None:
        seen.append(file.read_bytes() if file.exists() else b"")

    solve_with(
        problem,
        seed=3,
        generations=LAST,
        **options,
        observe=remember,
        checkpointing=Checkpointing(file=file, every=5),
    )
    changed = [i for i in range(1, len(seen)) if seen[i] != seen[i - 1]]
    assert seen[0] != b""
    assert changed == [5, 10]
    assert file.read_bytes() != seen[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["run.checkpoint"], "no drafts are left"


def test_resuming_does_not_count_earlier_time_against_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, options = KINDS["none"]
    file, clock = tmp_path / "run.checkpoint", DrivenClock(monkeypatch)

    def solve_for_a_while(checkpointing: Checkpointing) -> Timing:
        found = solve_with(
            problem,
            seed=3,
            deadline=0.4,
            **options,
            observe=lambda view: clock.advance(0.05),
            checkpointing=checkpointing,
        )
        assert found.stopped == "deadline"
        assert found.timing is not None
        return found.timing

    first = solve_for_a_while(Checkpointing(file=file))
    resumed = solve_for_a_while(Checkpointing(resume=file))
    assert 0.3 < first.seconds <= 0.4
    assert 0.3 < resumed.seconds <= 0.4
    assert resumed.generation_seconds[-1] > 0.6


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    problem, options = KINDS["none"]
    file = tmp_path / "run.checkpoint"
    solve_with(
        problem,
        seed=3,
        generations=4,
        **options,
        checkpointing=Checkpointing(file=file),
    )
    return file


def test_every_truncated_checkpoint_is_refused(checkpoint: Path) -> None:
    whole = checkpoint.read_bytes()
    for length in [*range(0, len(whole), 37), len(whole) - 1]:
        checkpoint.write_bytes(whole[:length])
        with pytest.raises(FileError, match="or is damaged; start without --resume"):
            resume_from(checkpoint, fresh_run("none"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"format": "tacit-result/1"}',
        b"\x80",
        msgspec.msgpack.encode({"format": FORMAT}),
        msgspec.msgpack.encode([1, 2, 3]),
        bytes(range(32)),
    ],
)
def test_foreign_files_are_refused(checkpoint: Path, content: bytes) -> None:
    checkpoint.write_bytes(content)
    with pytest.raises(FileError, match="is not a tacit checkpoint"):
        resume_from(checkpoint, fresh_run("none"))


def test_every_damaged_checkpoint_is_refused(checkpoint: Path) -> None:
    whole = checkpoint.read_bytes()
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        checkpoint.write_bytes(damaged)
        with pytest.raises(FileError, match="is not a tacit checkpoint"):
            resume_from(checkpoint, fresh_run("none"))


def test_a_checkpoint_of_another_format_is_refused(checkpoint: Path) -> None:
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole.replace(FORMAT.encode(), b"tacit-checkpoint/9"))
    with pytest.raises(FileError, match="of another version of tacit"):
        resume_from(checkpoint, fresh_run("none"))


def test_an_absent_checkpoint_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"nowhere: there is no such file"):
        resume_from(tmp_path / "nowhere", fresh_run("none"))
    with pytest.raises(FileError, match="this is a folder"):
        resume_from(tmp_path, fresh_run("none"))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    run = fresh_run("none")
    drive(run)
    with pytest.raises(FileError, match=r"run\.checkpoint: cannot be written .*; choose another"):
        save_checkpoint(run, tmp_path / "nowhere" / "run.checkpoint")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 4}, "belongs to another seed"),
        ({"parameters": SMALL.with_changes(population=22)}, "another set of parameters"),
        ({"parameters": SMALL.with_changes(mutation="insert")}, "another set of parameters"),
        ({"problem": generate_assignment(8, rows=12)}, "another problem or disclosure"),
        ({"problem": generate_assignment(7, rows=11)}, "another problem or disclosure"),
        (
            {"problem": with_disclosures(generate_assignment(7, rows=12), "order", None)},
            "another problem or disclosure",
        ),
        (
            {"problem": with_disclosures(generate_assignment(7, rows=12), None, "nothing")},
            "another problem or disclosure",
        ),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(
    checkpoint: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(FileError, match=message) as refused:
        resume_from(checkpoint, fresh_run("none", **changes))
    assert str(checkpoint) in str(refused.value)
    assert "resume with what it was started with" in str(refused.value)


def test_the_fingerprint_covers_weights_sense_mask_and_names(
    small_assignment: Assignment, small_forbidden: Assignment
) -> None:
    objective = small_assignment.objectives[0]
    assert objective.weights is not None
    other = objective.weights.copy()
    other[3, 4] ^= 1
    assert small_forbidden.forbidden is not None
    looser = small_forbidden.forbidden.copy()
    looser[tuple(np.argwhere(looser)[0])] = False
    problems = [
        small_assignment,
        replace(small_assignment, objectives=(replace(objective, weights=other),)),
        replace(small_assignment, objectives=(replace(objective, sense="minimize"),)),
        replace(small_assignment, objectives=(replace(objective, confidential=False),)),
        replace(small_assignment, objectives=(replace(objective, name="x"),)),
        replace(small_assignment, name="x"),
        small_forbidden,
        replace(small_forbidden, forbidden=looser),
        replace(small_forbidden, forbidden=None),
    ]
    digests = [problem_digest(problem) for problem in problems]
    assert len(set(digests)) == len(problems)
    assert problem_digest(generate_assignment(7, rows=12)) == digests[0]


def test_checkpoints_every_zero_generations_are_refused() -> None:
    with pytest.raises(ParameterError, match="checkpoints every 0 generations; give at least 1"):
        Checkpointing(every=0)


CHECKPOINT_FOR_EVER = """
import sys
from tests.runs.checkpointed import KINDS
from tacit.runs import Checkpointing
from tests.runs.flat import solve_with
problem, options = KINDS["none"]
solve_with(problem, seed=3, generations=10**9, engine="simulated", **options,
      checkpointing=Checkpointing(file=sys.argv[1], every=1))
"""


@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.processes
def test_a_kill_in_the_middle_of_writing_leaves_a_checkpoint_that_loads(
    tmp_path: Path, attempt: int
) -> None:
    file = tmp_path / "run.checkpoint"
    process = subprocess.Popen(
        [sys.executable, "-c", CHECKPOINT_FOR_EVER, str(file)], cwd=Path(__file__).parents[2]
    )
    try:
        given_up = time.monotonic() + 240
        while not file.exists() and time.monotonic() < given_up:
            time.sleep(0.01)
        time.sleep(0.05 + 0.037 * attempt)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    run = fresh_run("none")
    resume_from(file, run)
    saved = run.now.search.generation
    assert len(run.history) == saved + 1
    problem, options = KINDS["none"]
    whole = without_timing(problem, generations=saved + 3, **options)
    resumed = without_timing(
        problem, generations=saved + 3, **options, checkpointing=Checkpointing(resume=file)
    )
    assert resumed == whole


def test_a_half_written_draft_does_not_touch_the_checkpoint(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = checkpoint.read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    run = fresh_run("none")
    drive(run)
    with pytest.raises(FileError, match="No space left on device"):
        save_checkpoint(run, checkpoint)
    assert checkpoint.read_bytes() == whole
