"""Markup of the dashboard: nothing from outside gets in unescaped, and pictures fit their data."""

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.service.dashboard.convergence import (
    MOST_POINTS,
    convergence_svg,
    round_ticks,
    thinned,
)
from tacit.service.dashboard.pages.nodes_page import clusters_markup
from tacit.service.dashboard.pages.plan_views import MATRIX_LIMIT, plan_matrix, plan_table, tour_map
from tacit.service.dashboard.pages.run_parts import (
    figures,
    members_table,
    nodes_table,
    search_words,
    terms_list,
    warnings_list,
    way_of,
)
from tacit.service.dashboard.pages.run_plan import plan_markup, summary
from tacit.service.dashboard.pages.series_page import runs_table, series_terms_list, signers_table
from tacit.service.dashboard.pages.signing_in import own_path
from tacit.service.dashboard.words import WAY, disclosed_so_far, disclosure_words
from tests.service.example_terms import example_terms

EVIL = '<img src=x onerror="alert(1)">&\''
values = st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9)


def evil_run(kind: str = "assignment") -> dict[str, Any]:
    return {
        "id": EVIL,
        "created_by": EVIL,
        "agreement_hash": EVIL,
        "members": [
            {"name": EVIL, "rows": [0, 1], "joined": True, "signed": False,
             "submission_state": "refused"},
        ],
        "terms": {
            "deadline_seconds": 5,
            "limits": {"evaluations": 1, "expiry_hours": 1},
            "problem": {
                "kind": kind, "rows": 2, "columns": 2,
                "forbidden": [[0, 1]] if kind == "assignment" else [],
                "row_names": [EVIL, "b"], "column_names": [EVIL, "d"],
                "coordinates": [[0, 0], [1, 1]] if kind == "tour" else None,
            },
            "objectives": [
                {"name": EVIL, "sense": "minimize", "disclosure": EVIL, "best": EVIL},
            ],
        },
    }  # fmt: skip


def well_formed(markup: str) -> None:
    assert "<img" not in markup
    ElementTree.fromstring(f"<div>{markup}</div>")


@pytest.mark.parametrize("kind", ["assignment", "tour"])
def test_names_from_outside_stay_text(kind: str) -> None:
    run = evil_run(kind)
    node = {"host": EVIL, "port": 1, "reachable": True, "clock_offset_seconds": 9.0}
    result = {
        "state": "finished", "plan": {"items": [0, 1]}, "told": [3], "generation": 1,
        "evaluations": 1, "seconds": 1.0, "late_by_seconds": -0.1, "nodes": 4,
    }  # fmt: skip
    for markup in (
        members_table(run["members"]),
        nodes_table({"name": EVIL, "nodes": [node] * 3}),
        warnings_list([EVIL]),
        terms_list(run, population=300, search=EVIL),
        plan_markup(run, [0, 1]),
        summary(run, result),
        plan_table([(EVIL, EVIL)], heads=("row", "gets"), owners=[EVIL]),
        convergence_svg([(0.0, 1.0)], label=EVIL),
    ):
        well_formed(markup)
    assert "computed by four nodes" in summary(run, result)


def test_names_of_nodes_and_series_stay_text() -> None:
    node = {
        "host": EVIL, "port": 1, "reachable": True, "clock_offset_seconds": -9.0, "last_seen": 0.0,
        "signing_key": "00" * 32, "certificate": EVIL, "certificate_expires": 86400.0,
    }  # fmt: skip
    busy = {"slots": 4, "running": 1, "waiting": 0}
    shown = clusters_markup(
        [{"name": EVIL, "nodes": [node, {**node, "reachable": False}], **busy}], 0.0
    )
    assert "One node cannot be reached" in shown
    # As `tacit keys show` prints it, for the phone.
    assert shown.count("<code>66687aad f862bd77 6c8fc18b 8e9f8e20</code>") == 2
    assert shown.count("renew it") == 2
    assert shown.count("-9.0 s</strong>") == 2
    terms = {
        "varying": {"parts": ["rows"], "least_rows": 2, "most_rows": None, "least_columns": None,
                    "most_columns": 1234},
        "schedule": {"at": [EVIL]}, "runs_per_day": 2, "run_hours": 24.0, "days": 90.0,
    }  # fmt: skip
    series = {"terms": terms, "cluster": EVIL, "id": EVIL, "hash": EVIL}
    listed = series_terms_list(series)
    assert "2 at least" in listed
    assert "1,234 at most" in listed
    for markup in (
        shown,
        listed,
        runs_table([{"id": EVIL, "number": 1, "name": EVIL, "state": EVIL}]),
        signers_table([{"name": EVIL, "joined": True, "signed": False}]),
    ):
        well_formed(markup)


@pytest.mark.parametrize(("count", "says"), [(3, "nobody notices"), (4, "right or there is none")])
def test_the_nodes_of_a_run_say_what_they_promise(count: int, says: str) -> None:
    node = {"host": "n", "port": 1, "reachable": True, "clock_offset_seconds": 0.0}
    assert says in nodes_table({"name": "c", "nodes": [node] * count})


@given(st.lists(st.tuples(st.floats(0, 1e6), values), min_size=1, max_size=50))
def test_the_curve_stays_on_its_paper(points: list[tuple[float, float]]) -> None:
    points.sort(key=lambda point: point[0])
    markup = convergence_svg(points, label="cost", until=1.0)
    well_formed(markup)
    broad = ElementTree.fromstring(f"<div>{markup}</div>")[0]
    line = next(each for each in broad if each.get("class") == "line").get("d") or ""
    for letter, number in re.findall(r"([HV])([-.\d]+)", line):
        assert -0.1 <= float(number) <= (960.1 if letter == "H" else 300.1)


@given(values, values)
def test_ticks_surround_the_values_in_even_steps(one: float, two: float) -> None:
    low, high = min(one, two), max(one, two)
    ticks = round_ticks(low, high)
    slack = 1e-6 * max(1.0, high - low)
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= 9
    steps = [after - before for before, after in pairwise(ticks)]
    assert max(steps) - min(steps) <= 1e-6 * max(1.0, max(steps))


def test_long_histories_are_thinned_but_keep_their_ends() -> None:
    points = [(float(i), float(-i)) for i in range(10 * MOST_POINTS)]
    kept = thinned(points)
    assert len(kept) <= MOST_POINTS + 1
    assert (kept[0], kept[-1]) == (points[0], points[-1])


def test_the_way_knows_where_a_run_is() -> None:
    for i, state in enumerate(WAY):
        shown = way_of(state)
        assert shown.count("<li") == len(WAY)
        assert shown.count("aria-current") == 1
        assert shown.count('class="done"') == (len(WAY) if state == "finished" else i)
    assert way_of("cancelled") == ""


def test_large_plans_have_no_matrix() -> None:
    names = [str(i) for i in range(MATRIX_LIMIT + 1)]
    assert plan_matrix(range(len(names)), row_names=names, column_names=names) == ""
    shown = plan_matrix([1, 0], row_names="ab", column_names="xyz", forbidden=frozenset({(0, 0)}))
    assert [shown.count(f'class="{kind}"') for kind in ("taken", "barred", "open")] == [2, 1, 3]


def test_a_map_of_cities_in_one_place() -> None:
    well_formed(tour_map([0, 1], [[5, 5], [5, 5]], ["a", "b"]))


@given(st.text(max_size=40))
def test_links_lead_to_our_own_pages(path: str) -> None:
    shown = own_path(path)
    assert shown.startswith("/")
    assert not shown.startswith(("//", "/\\"))


def test_a_disclosure_of_all_objectives_together_in_words() -> None:
    assert disclosure_words("pareto:top:5") == (
        "of all objectives together, which 5 plans of each generation are best"
    )


def test_what_was_disclosed_in_words() -> None:
    objectives = [
        {"name": "cost", "disclosure": "quantiles:5", "best": "improvement"},
        {"name": "risk", "disclosure": "none", "best": "value"},
    ]
    terms = {"objectives": objectives, "problem": {"kind": "assignment"}}
    assert disclosed_so_far(terms, 1, 300) == [
        "cost: 1 answer about 300 plans each. Each disclosed in which of 5 equally large groups, "
        "by rank, each plan is, and whether the best value improved.",
        "risk: 1 answer about 300 plans each. Each disclosed the exact value of every plan of each "
        "generation.",
    ]


def test_rates_fall_to_nothing_where_nothing_comes_any_more() -> None:
    run = {**evil_run(), "state": "running", "running_since": 0.0}
    run["progress"] = {
        "generation": 80, "evaluations": 81, "evaluations_per_second": 16.0, "best": [7.0],
        "seconds": 5.0, "at": 100.0,
    }  # fmt: skip

    def rates(now: float, *, waits: bool = False) -> list[str]:
        markup = figures(run, population=300, now=now, waits=waits)
        return re.findall("per second, now</dt><dd>(.*?)</dd>", markup)

    assert rates(101.0) == ["16", "4,800"]
    assert rates(106.0) == ["0", "0"]
    assert rates(101.0, waits=True) == ["0", "0"], "a node is missed, so nothing can come"


def test_of_a_sealed_run_time_and_steps_are_shown() -> None:
    run = {**evil_run(), "state": "finished"}
    run["terms"]["objectives"] = [
        {"name": "cost", "sense": "minimize", "disclosure": "sealed", "best": "nothing"}
    ]
    run["progress"] = {
        "generation": 80, "steps": 140, "evaluations": 0, "evaluations_per_second": 0.0,
        "best": [None], "seconds": 2.0,
    }  # fmt: skip
    shown = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", figures(run, population=0, now=9.0))
    assert shown == [("Steps", "80 of 140"), ("Steps per second, on average", "40")]
    run["terms"]["limits"]["evaluations"] = None
    listed = dict(
        re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", terms_list(run, population=0, search=""))
    )
    assert listed["Steps at most"] == "as many as fit the deadline"
    assert "ends when its steps are made" in listed["Deadline"]
    result = {
        "state": "finished", "told": [None], "generation": 80, "evaluations": 0, "seconds": 2.0,
        "late_by_seconds": 0.0,
    }  # fmt: skip
    assert summary(run, result) == "<p>Done, after 80 steps in 2.0 s; answered in time.</p>"
    assert "not proved" in summary(run, {**result, "proved": False})
    assert "proved that no plan is better" in summary(run, {**result, "proved": True})
    assert "the plan in the end" in terms_list(run, population=0, search="")
    run["terms"]["plan"] = "owners"
    assert "that there is a plan, and nothing of it" in terms_list(run, population=0, search="")


def test_what_a_sealed_run_opens_in_words() -> None:
    terms = {**evil_run()["terms"], "parameters": {}}
    first, *proof = disclosed_so_far(terms, 0, 0)
    assert first == "Sealed: nothing yet. In the end the plan is opened."
    assert disclosed_so_far(terms, 1, 0) == ["Only the plan was opened.", *proof]
    assert len(proof) == 1
    assert "whether it is proved" in proof[0]
    owned = disclosed_so_far({**terms, "plan": "owners"}, 1, 0)
    assert owned == ["Only the plan was opened to its owners alone.", *proof]
    told = disclosed_so_far({**terms, "parameters": {"checkpoints": "16:24", "gap": 2}}, 0, 0)
    assert len(told) == 4
    assert any("After iterations 16, 24" in line for line in told)
    tour = {**evil_run("tour")["terms"], "parameters": {}}
    assert disclosed_so_far(tour, 1, 0) == ["Only the plan was opened."]


def test_terms_name_every_setting_of_the_search() -> None:
    terms = example_terms().model_dump(mode="json")
    said = search_words({**terms, "preset": None, "parameters": {"population": 120}})
    assert said.startswith("genetic, population 120, elites 15, reevaluate parents no, tournament")
    sealed = [{**each, "disclosure": "sealed", "best": "nothing"} for each in terms["objectives"]]
    changed: dict[str, Any] = {"preset": None, "parameters": {}, "objectives": sealed}
    assert search_words({**terms, **changed}) == "what fits the problem, the time and the nodes"
