"""Figures that README and docs give are those of the files and of the code that they come from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import signature

import pytest
from studies.benchmarks.document_figures import Held, content_of, found_cells, held_cells, written
from studies.benchmarks.steps_in_time import fitted, steps_within
from studies.evaluation.time_budget import tour_group

from tacit.agreement import TourGroup
from tacit.agreement.terms import SAFE_GRACE
from tacit.cli.demo import demo_command
from tacit.mpc import Best, FitnessBound, Spec
from tacit.mpc.disclose.evaluation import cost as evaluation_cost
from tacit.mpc.protocols.minimum import tournament
from tacit.mpc.sealed import cost as sealed_cost
from tacit.mpc.transport import HEADER_BYTES, EarlyLimits, mux
from tacit.node import links, platform_connection, presence
from tacit.problems import shipped_problem
from tacit.runs import parse_duration
from tacit.runs.pace import OPENING_SECONDS
from tacit.search.moves import fitted_parameters, sealed_parameters_for
from tacit.service.api import middleware
from tacit.service.demo import demo_problem
from tacit.service.execution import worker
from tacit.service.server import serve
from tests.support.repository import ROOT


def test_measured_figures_are_those_of_their_files() -> None:
    held = held_cells()
    assert len(held) > 100
    texts = {each.document: (ROOT / each.document).read_text() for each in held}
    wrong = [each for each in held if found_cells(each, texts[each.document]) != [each.text]]
    assert not wrong, "run python -m studies.benchmarks.document_figures --write"


def test_a_wrong_cell_is_found_and_written() -> None:
    held = Held("README.md", "`top:15`", (3,), 2, "97.8 %")
    text = "| | what | value |\n| --- | --- | --- |\n| `top:15` | sets | 99.9 % |\n"
    assert found_cells(held, text) == ["99.9 %"]
    assert written(held, text).splitlines()[2] == "| `top:15` | sets | 97.8 % |"


def cost_cells(n: int, names: Sequence[str], nodes: int, *, megabytes: bool) -> str:
    """The cells of a cost: rounds and bytes, and in brackets with improvement."""
    bound = FitnessBound(0, 2**18 - 1)

    def declared(best: Best) -> tuple[str, str]:
        costs = [
            evaluation_cost(nodes, n, spec=Spec.parse(name), bound=bound, best=best, has_best=True)
            for name in names
        ]
        assert len({each.rounds for each in costs}) == 1
        sent = [each.bytes_per_node / (1e6 if megabytes else 1e3) for each in costs]
        shown = (f"{each:.1f}" if megabytes or each < 10 else f"{each:.0f}" for each in sent)
        return f"{costs[0].rounds}", ", ".join(dict.fromkeys(shown))

    (rounds, sent), (more_rounds, more_sent) = declared("value"), declared("improvement")
    if (rounds, sent) == (more_rounds, more_sent):
        return f"{rounds} | {sent}"
    return f"{rounds} ({more_rounds}) | {sent} ({more_sent})"


@pytest.mark.parametrize("n", [300, 5000])
@pytest.mark.parametrize("names", ["none", "order, quantiles:5, top:10", "above:75, buckets:5"])
def test_rounds_and_bytes_of_disclosures_are_the_declared_ones(n: int, names: str) -> None:
    text = (ROOT / "docs/protocols/disclosure.md").read_text()
    each = names.split(", ")
    cells = [cost_cells(n, each, nodes, megabytes=n == 5000) for nodes in (3, 4)]
    if (n, names) != (5000, "none"):
        assert f"| {names} | {cells[0]} | {cells[1]} |" in text.partition(f"| n = {n:,}")[2]


def test_the_readme_has_the_least_and_the_most_rounds() -> None:
    rounds = [each["rounds"] for each in content_of("engine")["disclosures"].values()]
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"300 candidates takes {min(rounds)} to {max(rounds)} rounds" in readme


def test_the_demo_takes_as_long_as_the_readme_says() -> None:
    assert "made-up costs: a plan in five seconds" in (ROOT / "README.md").read_text()
    problem = demo_problem(1)
    deadline = parse_duration(signature(demo_command).parameters["deadline"].default)
    parameters = fitted(problem, deadline)
    # The run ends when its steps are through, which the model says.
    assert steps_within(problem, parameters, 5.0) == parameters.steps


def cost_of_one_more(group: TourGroup, nodes: int) -> tuple[int, float]:
    """Rounds, and megabytes of the node that sends most."""
    moves = group.schedule.generation(0, horizon=1).moves
    one, two = (sealed_cost(nodes, moves, count, group.table) for count in (1, 2))
    return two.rounds - one.rounds, (two.bytes_per_node - one.bytes_per_node) / 1e6


def test_the_cost_of_sealed_generations_is_the_declared_one() -> None:
    text = (ROOT / "docs/protocols/sealed-search.md").read_text()
    tour = shipped_problem("kroD100")
    for row, parameters in (
        ("tour, 2 blocks of 501, two levels", fitted_parameters(tour)),
        ("tour, one parent and 299 children", sealed_parameters_for("tour")),
    ):
        group = tour_group(tour, parameters)
        each, on_four = (cost_of_one_more(group, nodes) for nodes in (3, 4))
        plan = tournament((group.schedule.children,) * group.schedule.blocks, parameters.levels)
        compared = sum(level.pairs for level in plan)
        cells = r"([\d,]+) \| \d+ \| (\d+) \| ([\d.]+) \| (\d+ \| [\d.]+)"
        found = re.search(rf"^\| {row} \| {cells} \|$", text, re.M)
        assert found is not None, row
        assert found[1] == f"{compared:,}"
        assert found[2] == f"{each[0]}"
        assert found[3] == f"{each[1]:.2f}"
        assert found[4] == f"{on_four[0]} | {on_four[1]:.2f}"


EARLY = EarlyLimits()
CONSTANTS = [
    ("docs/protocols/transport.md", f"**Frame.** {HEADER_BYTES} bytes"),
    ("docs/protocols/transport.md", f"kept for {EARLY.seconds:.0f} s"),
    (
        "docs/protocols/transport.md",
        f"up to {EARLY.size >> 20} MB, {EARLY.frames:,} frames and {EARLY.channels:,} "
        "conversations",
    ),
    (
        "docs/protocols/transport.md",
        f"{EARLY.dropped:,} within that time (from a platform: of "
        f"{platform_connection.EARLY_NOTICES.dropped:,})",
    ),
    ("docs/protocols/loss.md", f"{links.QUESTIONS} questions"),
    ("docs/protocols/loss.md", f"{SAFE_GRACE:g} s unless agreed otherwise"),
    (
        "docs/protocols/transport.md",
        f"({mux.PENDING_LIMIT >> 20} MB; {platform_connection.PENDING_LIMIT >> 20} MB from",
    ),
    ("docs/protocols/transport.md", f"no answer comes within {links.ANSWER_SECONDS:.0f} s"),
    (
        "docs/protocols/sealed-search.md",
        f"does not answer for {presence.ABSENT_SECONDS} s",
    ),
    ("docs/platform.md", f"or {OPENING_SECONDS} s or a little more before the deadline"),
    (
        "docs/platform.md",
        f"may take {serve.HEAD_SECONDS:.0f} s each, a pause within a body "
        f"{middleware.BODY_SECONDS:.0f} s",
    ),
    ("docs/platform.md", f"at most {1 / worker.REPORT_SECONDS:.0f} times a second"),
]


@pytest.mark.parametrize(("document", "phrase"), CONSTANTS)
def test_limits_in_documents_are_those_of_the_code(document: str, phrase: str) -> None:
    assert phrase in " ".join((ROOT / document).read_text().split())
