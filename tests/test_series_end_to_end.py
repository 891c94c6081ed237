"""A series of three runs: three nodes, a platform and three machines that follow it, in processes.

The operator types commands. The participants join and sign the series; from then on nobody types
anything on their machines. Balances are kept, so that each run follows the one before.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.participant import (
    Profile,
    counted_runs,
    join,
    new_key_file,
    review_series,
    sign_reviewed_series,
)
from tacit.service.local_platform import LocalPlatform
from tests.conftest import RunTacit
from tests.participant.platform import NAMES, slots
from tests.test_end_to_end import terms

pytestmark = pytest.mark.processes

RUNS = 3
GENERATIONS = 20
PATIENCE = 180.0
CHECKS = "north"
"""Who also checks the nodes' logs after each run; all do unless they say otherwise."""


@pytest.fixture
def platform() -> Iterator[LocalPlatform]:
    with LocalPlatform() as running:
        yield running


def wait_for(what: Callable[[], bool], *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.05)


def costs_of_a_day(folder: Path, name: str, number: int, columns: int) -> None:
    """Other costs every day, in a folder that the machine looks into."""
    rng = np.random.default_rng([number, NAMES.index(name)])
    own = next(each.rows for each in slots().participants if each.name == name)
    heads = [f"c{k}" for k in range(columns)]
    lines = [",".join(("flight", *heads))]
    lines += [
        ",".join((f"F{row}", *(f"{w / 10:.1f}" for w in rng.integers(0, 3000, columns))))
        for row in own
    ]
    draft = folder / f".{number}"
    draft.write_text("\n".join(lines) + "\n")
    os.utime(draft, (1, 1))
    draft.rename(folder / f"{number}.csv")


def pattern() -> dict[str, Any]:
    # A run ends with its last generation, long before its deadline.
    made = {**terms(), "deadline_seconds": 60.0, "limits": {"evaluations": GENERATIONS}}
    made["objectives"] = [{**made["objectives"][0], "disclosure": "sealed"}]
    del made["parameters"]
    made["problem"] = {**made["problem"], "column_names": [f"c{k}" for k in range(9)]}
    return made


def following(stack: ExitStack, script: str, profile: Profile, series: str) -> Path:
    """A machine that follows the series, in a process of its own; where it says what it does."""
    said = profile.folder / "said.txt"
    words = ["participant", "follow", series, "--costs", str(profile.folder / "costs")]
    words += ["--results", str(profile.folder / "plans"), "--every", "0.5"]
    words += [] if profile.account == CHECKS else ["--no-check"]
    words += ["--profile", str(profile.folder)]
    with said.open("wb") as out:
        process = subprocess.Popen(
            [script, *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )

    def end() -> None:
        process.terminate()
        process.wait(240)

    stack.callback(end)
    return said


def check_all(plans: list[Path], said: Path, number: int) -> None:
    """All have the plan of this run, and one has checked what the nodes logged."""
    wait_for(lambda: all(plan.exists() for plan in plans), seconds=PATIENCE)
    proven = "everything is as it was signed"
    wait_for(lambda: said.read_text().count(proven) == number, seconds=PATIENCE)
    assert len({plan.read_text().replace("yours", "") for plan in plans}) == 1
    assert all(plan.read_text().count("yours") == 3 for plan in plans)


def test_three_machines_follow_three_runs(
    platform: LocalPlatform,
    tmp_path: Path,
    tacit_script: str,
    run_here: RunTacit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "operator"))

    def ops(*words: str | Path) -> Any:
        done = run_here("series", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in words else done.stdout

    ops("sign-in", platform.url, platform.invitation("op", role="operator"), "--ca",
        platform.certificate)  # fmt: skip
    file = tmp_path / "terms.json"
    equity = {"told": "balance", "every": 1, "spacing": 4, "spread": True, "mean": True}
    written = {"name": "daily", "run": pattern(), "runs_per_day": RUNS, "equity": equity}
    file.write_text(json.dumps(written))
    made = ops("new", file, "--json")
    series, profiles = made["id"], []
    for name in NAMES:
        new_key_file(name, tmp_path / name)
        (tmp_path / name / "costs").mkdir()
        code, ca = made["invitations"][name], platform.certificate
        profiles.append(join(platform.url, code, profile=tmp_path / name, ca=ca))
    for profile in profiles:
        sign_reviewed_series(profile, review_series(profile, series, unpinned=True))

    with ExitStack() as stack:
        said = [following(stack, tacit_script, profile, series) for profile in profiles]
        for number in range(1, RUNS + 1):
            changes = tmp_path / "changes.json"
            # A slot more every day.
            problem = {**pattern()["problem"], "columns": 8 + number}
            problem["column_names"] = [f"c{k}" for k in range(8 + number)]
            changes.write_text(json.dumps({"problem": problem}))
            run = ops("run", series, "--changes", changes, "--json")
            assert run["series_number"] == number, run
            for profile in profiles:
                folder = profile.folder / "costs"
                costs_of_a_day(folder, profile.account, number, 8 + number)
            plans = [profile.folder / "plans" / f"{number}.csv" for profile in profiles]
            check_all(plans, said[NAMES.index(CHECKS)], number)
        # One more is more than was signed for a day.
        refused = ops("run", series, "--json")
        wait_for(
            lambda: all(f"REFUSED run 4 ({refused['id']})" in path.read_text() for path in said),
            seconds=PATIENCE,
        )
        shown = ops("show", series, "--json")
        assert [each["state"] for each in shown["its_runs"]] == [*["finished"] * RUNS, "invited"]
    check_balances(profiles, series, run_here)


def check_balances(profiles: list[Profile], series: str, run_here: RunTacit) -> None:
    """Everybody was told its own balance, and they add up to zero in a chain that all know."""
    told = [counted_runs(profile, series) for profile in profiles]
    for runs in zip(*told, strict=True):
        assert len({each.head for each in runs}) == 1
        balances = [each.balance for each in runs if each.balance is not None]
        assert len(balances) == len(NAMES)
        assert sum(balances) == 0
        assert runs[0].opened["spread"] == max(balances) - min(balances)
        assert runs[0].opened["saved"] == sum(each.saved or 0 for each in runs)
    assert [each.number for each in told[0]] == [*range(1, RUNS + 1)]
    assert all(after.before == first.head for first, after in pairwise(told[0]))
    done = run_here("participant", "balance", series, "--profile", profiles[0].folder)
    assert done.stdout.count("your level was") == RUNS, done.stderr
    assert "your balance is" in done.stdout
