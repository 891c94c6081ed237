"""A run that was interrupted anywhere and resumed gives the bytes of one that never stopped."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.evaluators import SeparateObjectives
from tacit.problems import Evaluation
from tacit.runs import Checkpointing, EvaluatingDriver, Progress, StopReason, drive
from tacit.runs.checkpoint import save_checkpoint
from tacit.runs.result import Timing
from tests.runs.checkpointed import KINDS, LAST, fresh_run, resume_from, without_timing
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
