"""The commands around nodes, as users type them."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tacit.local.cluster import free_addresses
from tacit.mpc.transport import make_certificate
from tacit.problems import generate_assignment, save_problem
from tests.conftest import RunTacit


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "ap.json"
    save_problem(generate_assignment(1, rows=12), path)
    return path


def wait_until_started(logs: list[Path]) -> None:
    deadline = time.monotonic() + 120
    while not all(log.exists() and b'"started"' in log.read_bytes() for log in logs):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.processes
def test_a_cluster_from_the_command_line(
    tmp_path: Path, problem: Path, run_here: RunTacit, tacit_script: str
) -> None:
    hosts = [word for each in free_addresses(4) for word in ("--host", each)]
    made = run_here("cluster", "new", tmp_path / "cluster", *hosts)
    assert made.returncode == 0, made.stderr
    files = [Path(line) for line in made.stdout.split()]
    assert stat.S_IMODE((tmp_path / "cluster" / "node-0.key").stat().st_mode) == 0o600
    nodes = [
        subprocess.Popen(
            [tacit_script, "node", "run", "--config", str(file)], stderr=subprocess.PIPE
        )
        for file in files[:4]
    ]
    try:
        wait_until_started([file.with_suffix(".data") / "log.jsonl" for file in files[:4]])
        solved = run_here(
            *("solve", problem, "--disclose", "top:15", "--generations", "3", "--json"),
            *("--nodes", files[4], "--ledger", tmp_path / "told.jsonl", "--reveal-best"),
        )
        assert solved.returncode == 0, solved.stderr
        result = json.loads(solved.stdout)
        assert (result["engine"], result["nodes"]) == ("nodes", 4)
        assert len((tmp_path / "told.jsonl").read_text().splitlines()) == 5
    finally:
        for node in nodes:
            node.send_signal(signal.SIGTERM)
        for node in nodes:
            node.communicate(timeout=240)
    assert [node.returncode for node in nodes] == [0, 0, 0, 0]
    again = run_here("cluster", "new", tmp_path / "cluster")
    assert again.returncode == 2
    assert "is not empty" in again.stderr


def test_a_cluster_has_three_or_four_nodes(tmp_path: Path, run_here: RunTacit) -> None:
    for count in (3, 4):
        made = run_here("cluster", "new", tmp_path / f"{count}", "--nodes", f"{count}")
        names = [Path(line).name for line in made.stdout.split()]
        assert names == [*(f"node-{i}.toml" for i in range(count)), "cluster.toml"]
        platform = run_here(
            "service", "init", tmp_path / f"p{count}", "--cluster",
            tmp_path / f"{count}" / "cluster.toml",
        )  # fmt: skip
        assert platform.returncode == 0, platform.stderr
    assert run_here("cluster", "new", tmp_path / "5", "--nodes", "5").returncode == 2
    hosts = [word for port in (1, 2) for word in ("--host", f"n:{port}")]
    refused = run_here("cluster", "new", tmp_path / "2", *hosts)
    assert "three or four nodes" in refused.stderr


def test_solve_starts_nodes_by_itself_and_leaves_none(
    problem: Path, run_tacit: RunTacit, run_here: RunTacit
) -> None:
    words = ("solve", problem, "--disclose", "order", "--generations", "2", "--seed", "3", "--json")
    real = run_tacit(*words, "--engine", "nodes")
    four = run_here(*words, "--engine", "nodes", "--local-nodes", "4")
    twin = run_here(*words, "--engine", "simulated")
    assert real.returncode == 0, real.stderr
    results = [json.loads(run.stdout) for run in (real, four, twin)]
    assert [result.pop("nodes", None) for result in results] == [3, 4, None]
    for result in results:
        del result["timing"], result["engine"]
    assert results[0] == results[1] == results[2]


@pytest.mark.processes
def test_ctrl_c_returns_the_best_so_far(problem: Path, tacit_script: str, tmp_path: Path) -> None:
    told, out = tmp_path / "told.jsonl", tmp_path / "result.json"
    run = subprocess.Popen(
        [
            *(tacit_script, "solve", str(problem), "--disclose", "order", "--out", str(out)),
            *("--deadline", "10m", "--json", "--ledger", str(told)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120
        while not told.exists() or told.read_bytes().count(b"\n") < 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        stdout, stderr = run.communicate(timeout=120)
    finally:
        run.kill()
        run.communicate()
    assert (run.returncode, stderr) == (0, "")
    result = json.loads(stdout)
    assert result["stopped"] == "interrupted"
    assert result["generations"] >= 1
    assert sorted(result["plan"]) == list(range(12))
    assert json.loads(out.read_text()) == result


def test_keys(tmp_path: Path, run_here: RunTacit) -> None:
    made = run_here("keys", "new", "north", "--out", tmp_path / "north.key")
    shown = run_here("keys", "show", tmp_path / "north.key")
    assert made.stdout == shown.stdout
    assert [len(word) for word in made.stdout.split()].count(64) == 1
    assert "to compare by phone" in made.stdout
    again = run_here("keys", "new", "north", "--out", tmp_path / "north.key")
    assert again.returncode == 2
    (tmp_path / "north.key").chmod(0o644)
    assert "read by others" in run_here("keys", "show", tmp_path / "north.key").stderr


def test_keys_and_certificates_are_rotated_in_three_steps(
    tmp_path: Path, run_here: RunTacit
) -> None:
    assert run_here("cluster", "new", tmp_path / "c").returncode == 0
    node, platform = tmp_path / "c" / "node-0.toml", tmp_path / "c" / "cluster.toml"
    service = tmp_path / "p" / "service.toml"
    run_here("service", "init", tmp_path / "p", "--cluster", platform)
    assert run_here("keys", "check", node).stdout.count(".pem") == 4
    before = (tmp_path / "c" / "node-0.key").read_bytes()
    for config in (node, platform, service):
        out_of_order = run_here("keys", "rotate", config, "switch")
        assert "take the steps in order: prepare, switch, finish" in out_of_order.stderr
        for step, says in (
            ("prepare", "holds the old and the new certificate"),
            ("switch", "certificate  "),
            ("finish", "the old ones are gone"),
        ):
            done = run_here("keys", "rotate", config, step)
            assert (done.returncode, says in done.stdout) == (0, True), done.stderr
    assert (tmp_path / "c" / "node-0.key").read_bytes() != before
    assert not [*tmp_path.rglob("*.previous.*"), *tmp_path.rglob("*.next.*")]
    wrong = run_here("keys", "rotate", tmp_path / "c" / "node-0.pem")
    assert wrong.returncode == 2
    pem, secret = make_certificate("platform", days=20)
    (tmp_path / "c" / "platform.pem").write_text(pem)
    (tmp_path / "c" / "platform.tls.key").write_text(secret)
    warned = run_here("keys", "check", node)
    assert warned.returncode == 1
    assert "platform.pem expires in 20 days" in warned.stderr


def test_a_changed_log_is_one_clear_line(tmp_path: Path, run_here: RunTacit) -> None:
    (tmp_path / "log.jsonl").write_text('{"event":"started","node":0,"previous":"1"}\n')
    run = run_here("log", "verify", tmp_path / "log.jsonl")
    assert run.returncode == 3
    assert run.stderr == "tacit: line 1 does not follow line 0; the log was changed\n"


@pytest.mark.processes
def test_bench_prints_the_agreed_shape(run_here: RunTacit) -> None:
    words = ("bench", "engine", "--population", "12", "--size", "5", "--repeats", "1")
    run = run_here(*words, "--json", "--measurements", "3", "--nodes", "4", "--against", "three")
    found = json.loads(run.stdout)
    assert [found[each] for each in ("nodes", "population", "size", "latency_ms")] == [4, 12, 5, 0]
    assert set(found["disclosures"]) == {
        *("none", "order", "quantiles:5", "buckets:5", "top:10", "above:75"),
    }
    shape = {"seconds", "each_seconds", "rounds", "bytes_per_node", "processor_seconds_per_node"}
    for row in found["disclosures"].values():
        assert set(row) == shape | {"ratio_to_mpyc", "three", "ratio_to_three"}
        assert set(row["three"]) == shape
        for each in (row, row["three"]):
            assert len(each["each_seconds"]) == 3
            assert each["seconds"] == sorted(each["each_seconds"])[1]
            assert 0 < each["processor_seconds_per_node"] < 10
        assert row["ratio_to_three"]["rounds"] == round(row["rounds"] / row["three"]["rounds"], 2)
    assert (
        found["disclosures"]["order"]["three"]["rounds"] < (found["disclosures"]["order"]["rounds"])
    )
    assert "add --nodes 4" in run_here(*words, "--against", "three").stderr


@pytest.mark.processes
def test_a_small_problem_is_solved_without_what_takes_long_to_import(tmp_path: Path) -> None:
    save_problem(generate_assignment(1, rows=8), tmp_path / "ap.json")
    code = (
        "import atexit, sys; from tacit.cli import main\n"
        "heavy = {'numba', 'scipy', 'matplotlib'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        "sys.argv = ['tacit', 'solve', 'ap.json', '--json']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert json.loads(done.stdout)["percent_of_optimum"] == 100
    assert done.stderr == "[]\n"


@pytest.mark.processes
def test_a_node_starts_without_what_it_may_never_need() -> None:
    """Its modules import neither Numba nor SciPy, and of problems what plans of a kind are."""
    code = (
        "import sys; import tacit.node.process\n"
        "heavy = {'numba', 'scipy', 'matplotlib', 'tacit.runs'}\n"
        "heavy |= {'tacit.search.sealed', 'tacit.problems.files', 'tacit.coordinator'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
