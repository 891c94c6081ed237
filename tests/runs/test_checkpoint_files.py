"""Which files are taken for a checkpoint, and how they are written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit.errors import FileError, ParameterError
from tacit.problems import Assignment, generate_assignment
from tacit.runs import Checkpointing, drive, with_disclosures
from tacit.runs.checkpoint import (
    FORMAT,
    problem_digest,
    save_checkpoint,
)
from tests.runs.checkpointed import KINDS, SMALL, fresh_run, resume_from, without_timing
from tests.runs.flat import solve_with


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
from tests.runs.checkpointed import KINDS, resume_from
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
