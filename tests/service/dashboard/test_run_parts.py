"""Markup of the dashboard: nothing from outside gets in unescaped, and pictures fit their data."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tacit.client.models import (
    ClusterView,
    MemberView,
    NodeView,
    Plan,
    RunProgress,
    RunResult,
    RunView,
    SeriesRun,
    SeriesView,
)
from tacit.client.terms import (
    LimitTerms,
    ProblemTerms,
    RunObjective,
    RunTerms,
    ScheduleTerms,
    SeriesTerms,
    VaryingTerms,
)
from tacit.disclosure import revealed_words
from tacit.service.dashboard.charts import (
    MATRIX_LIMIT,
    MOST_POINTS,
    curve,
    matrix,
    thinned,
    tour_map,
)
from tacit.service.dashboard.disclosures import disclosed_so_far
from tacit.service.dashboard.nodes import clusters_markup, nodes_table, stall_words, waits_for_nodes
from tacit.service.dashboard.run_parts import (
    figures,
    members_table,
    search_words,
    terms_list,
    warnings_list,
    way_of,
)
from tacit.service.dashboard.run_plan import plan_table, plan_views, summary
from tacit.service.dashboard.runs_page import about, detail, standing, worrying_silence
from tacit.service.dashboard.series_pages import runs_table, series_terms_list, signers_table
from tacit.service.dashboard.signing_in import own_path
from tacit.service.dashboard.words import WAY
from tests.service.example_terms import example_terms, run_about

EVIL = '<img src=x onerror="alert(1)">&\''


def evil_terms(kind: str = "assignment", **objective: str) -> RunTerms:
    rule = {"disclosure": EVIL, "best": "value", **objective}
    return RunTerms(
        name=EVIL,
        deadline_seconds=5.0,
        limits=LimitTerms(evaluations=1, expiry_hours=1.0),
        problem=ProblemTerms(
            name=EVIL,
            kind=kind,
            rows=2,
            columns=2,
            forbidden=[(0, 1)] if kind == "assignment" else [],
            row_names=[EVIL, "b"],
            column_names=[EVIL, "d"] if kind == "assignment" else None,
            coordinates=[(0.0, 0.0), (1.0, 1.0)] if kind == "tour" else None,
        ),
        objectives=[RunObjective(name=EVIL, sense="minimize", weight_bound=9, **rule)],  # type: ignore[arg-type]
        participants={"north": [0, 1]},
    )


def evil_run(kind: str = "assignment", **known: Any) -> RunView:
    members = [MemberView(EVIL, joined=True, signed=False, submission_state="refused", rows=[0, 1])]
    usual: dict[str, Any] = {"id": EVIL, "created_by": EVIL, "agreement_hash": EVIL}
    return run_about(**{"terms": evil_terms(kind), "members": members, **usual, **known})


def a_node(*, reachable: bool = True, clock: float = 9.0, **known: Any) -> NodeView:
    known = {"signing_key": "00" * 32, "certificate": EVIL, **known}
    return NodeView(host=EVIL, port=1, reachable=reachable, clock_offset_seconds=clock, **known)


def a_cluster(*nodes: NodeView) -> ClusterView:
    return ClusterView(name=EVIL, nodes=list(nodes), slots=4, running=1, waiting=0)


def well_formed(markup: str) -> None:
    assert "<img" not in markup
    ElementTree.fromstring(f"<div>{markup}</div>")


@pytest.mark.parametrize("kind", ["assignment", "tour"])
def test_names_from_outside_stay_text(kind: str) -> None:
    run = evil_run(kind)
    result = RunResult(
        state="finished",
        reason=None,
        plan=Plan(items=[0, 1]),
        disclosed=[3],
        generation=1,
        evaluations=1,
        seconds=1.0,
        late_by_seconds=-0.1,
        nodes=4,
    )
    for markup in (
        members_table(run.members),
        nodes_table(a_cluster(*[a_node()] * 3)),
        warnings_list([EVIL]),
        terms_list(run.terms, population=300, search=EVIL, known=[(EVIL, EVIL)]),
        summary(run, result),
        plan_views(run, [0, 1])[1],
        plan_table([(EVIL, EVIL)], heads=("row", "gets"), owners=[EVIL]),
    ):
        well_formed(markup)
    assert "computed by four nodes" in summary(run, result)


def test_names_of_nodes_and_series_stay_text() -> None:
    seen: dict[str, Any] = {"clock": -9.0, "last_seen": 0.0, "certificate_expires": 86400.0}
    full: dict[str, Any] = {"room_used": 0.85, "scarcest": EVIL}
    nodes = [a_node(**seen, **full), a_node(reachable=False, **seen, room_used=0.1)]
    shown = clusters_markup([a_cluster(*nodes)], 0.0)
    assert "One node cannot be reached" in shown
    # As `tacit keys show` prints it, for the phone.
    assert shown.count("<code>66687aad f862bd77 6c8fc18b 8e9f8e20</code>") == 2
    assert shown.count("renew it") == 2
    assert shown.count("-9.0 s</strong>") == 2
    assert "85% taken</strong>" in shown
    assert "<td>10% taken</td>" in shown
    series = SeriesView(
        EVIL,
        EVIL,
        "agreed",
        hash=EVIL,
        cluster=EVIL,
        created=0.0,
        next_at=None,
        ended=None,
        reason=None,
        runs=1,
        terms=SeriesTerms(
            name=EVIL,
            run=evil_terms(),
            varying=VaryingTerms(parts=["rows"], least_rows=2, most_columns=1234),
            schedule=ScheduleTerms(at=[EVIL]),
        ),
        members=[],
        its_runs=[],
    )
    listed = series_terms_list(series)
    assert "2 at least" in listed
    assert "1,234 at most" in listed
    for markup in (
        shown,
        listed,
        runs_table([SeriesRun(EVIL, 1, EVIL, "running")]),
        signers_table([MemberView(EVIL, joined=True, signed=False)]),
    ):
        well_formed(markup)


@pytest.mark.parametrize(("count", "says"), [(3, "nobody notices"), (4, "right or there is none")])
def test_the_nodes_of_a_run_say_what_they_promise(count: int, says: str) -> None:
    assert says in nodes_table(a_cluster(*[a_node()] * count))


def test_a_curve_ends_at_the_deadline_while_the_run_goes_on() -> None:
    points = [(0.5, 9.0), (2.0, 4.0)]
    assert curve(points, until=60.0)["xAxis"]["max"] == 60.0
    assert curve(points, until=1.0)["xAxis"]["max"] == 2.0
    assert curve(points)["xAxis"]["max"] == "dataMax"


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
    assert matrix(range(len(names)), names, names, frozenset()) is None
    shown = matrix([1, 0], "ab", "xyz", frozenset({(0, 0)}))
    assert shown is not None
    cells = {each["name"]: each["data"] for each in shown.options["series"]}
    assert cells == {
        "gets": [(1, 0), (0, 1)],
        "could have had": [(2, 0), (1, 1), (2, 1)],
        "may not have": [(0, 0)],
    }


def test_a_map_of_cities_in_one_place() -> None:
    shown = tour_map([0, 1], [[5, 5], [5, 5]], ["a", "b"])
    assert [stop["name"] for stop in shown.options["series"][0]["data"]] == ["a", "b", "a"]
    assert shown.options["xAxis"]["min"] < shown.options["xAxis"]["max"]


@given(st.text(max_size=40))
def test_links_lead_to_our_own_pages(path: str) -> None:
    shown = own_path(path)
    assert shown.startswith("/")
    assert not shown.startswith(("//", "/\\"))


def test_what_was_disclosed_in_words() -> None:
    objectives = [
        RunObjective(
            name="cost",
            sense="minimize",
            weight_bound=9,
            disclosure="quantiles:5",
            best="improvement",
        ),
        RunObjective(
            name="risk", sense="minimize", weight_bound=9, disclosure="none", best="value"
        ),
    ]
    terms = replace(evil_terms(), objectives=objectives)
    assert disclosed_so_far(terms, 1, 300) == [
        "cost: 1 answer. Each disclosed "
        f"{revealed_words('quantiles:5', 'its 300 plans', best='improvement')}.",
        "risk: 1 answer. Each disclosed the total of each of its 300 plans, exactly.",
    ]
    nothing, *to_come = disclosed_so_far(terms, 0, 300)
    assert nothing == "Nothing yet."
    assert to_come[1].startswith("Of risk the platform will learn the total of each")


def test_rates_fall_to_nothing_where_nothing_comes_any_more() -> None:
    progress = RunProgress(
        generation=80,
        evaluations=81,
        evaluations_per_second=16.0,
        best=[7.0],
        seconds=5.0,
        at=100.0,
    )
    run = evil_run(state="running", running_since=0.0, progress=progress, reported_at=100.0)

    def rates(now: float, *, waits: bool = False) -> list[str]:
        markup = figures(run, population=300, now=now, waits=waits)
        return re.findall("per second, now</dt><dd>(.*?)</dd>", markup)

    assert rates(101.0) == ["16", "4,800"]
    assert rates(106.0) == ["0", "0"]
    assert rates(101.0, waits=True) == ["0", "0"], "a node is missed, so nothing can come"


def shown_terms(terms: RunTerms) -> dict[str, str]:
    listed = terms_list(terms, population=0, search="")
    return dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", listed))


def test_of_a_sealed_run_time_and_steps_are_shown() -> None:
    terms = evil_terms(disclosure="sealed", best="nothing")
    progress = RunProgress(
        generation=80,
        steps=140,
        evaluations=0,
        evaluations_per_second=0.0,
        best=[None],
        seconds=2.0,
    )
    run = evil_run(state="finished", terms=terms, progress=progress)
    shown = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", figures(run, population=0, now=9.0))
    assert shown == [("Steps", "80 of 140"), ("Steps per second, on average", "40")]
    listed = shown_terms(replace(terms, limits=LimitTerms()))
    assert listed["Steps at most"] == "as many as fit the deadline"
    assert "ends when its steps are made" in listed["Deadline"]
    result = RunResult(
        state="finished",
        reason=None,
        disclosed=[None],
        generation=80,
        evaluations=0,
        seconds=2.0,
        late_by_seconds=0.0,
    )
    assert summary(run, result) == "<p>Done, after 80 steps in 2.0 s; answered in time.</p>"
    assert "not proved" in summary(run, replace(result, proved=False))
    assert "proved that no plan is better" in summary(run, replace(result, proved=True))
    assert "sealed: once, at the end: the plan that was found" in str(shown_terms(terms))
    owners = str(shown_terms(replace(terms, plan="owners")))
    assert "that there is a plan" in owners
    assert "not which row gets what" in owners


def test_what_a_sealed_run_opens_in_words() -> None:
    terms = evil_terms(disclosure="sealed", best="nothing")
    nothing, opened = disclosed_so_far(terms, 0, 0)
    assert nothing == "Nothing yet."
    assert opened.startswith("The platform will learn once, at the end: the plan that was found")
    assert "whether it is proved" in opened
    assert disclosed_so_far(terms, 1, 0) == [opened.replace("will learn", "learned")]
    more = replace(terms, parameters={"checkpoints": "16:24", "gap": 2})
    *_, gap, checkpoints = disclosed_so_far(more, 0, 0)
    assert "or a power of 2" in gap
    assert "after iteration 16, 24: whether all is proved" in checkpoints
    (tour,) = disclosed_so_far(evil_terms("tour", disclosure="sealed", best="nothing"), 1, 0)
    assert "proved" not in tour


def test_terms_name_every_setting_of_the_search() -> None:
    terms = replace(example_terms(), preset=None, parameters={"population": 120})
    said = search_words(terms)
    assert said.startswith("genetic, population 120, elites 15, reevaluate parents no, tournament")
    sealed = [replace(each, disclosure="sealed", best="nothing") for each in terms.objectives]
    fitted = search_words(replace(terms, parameters={}, objectives=sealed))
    assert fitted == "what fits the problem, the time and the nodes"


def test_a_list_says_how_far_each_run_is() -> None:
    people: dict[str, Any] = {"participants": 3, "joined": 3, "signed": 2, "accepted": 0}
    assert standing(run_about(state="invited", **people)) == "2 of 3 signed"
    assert standing(run_about(state="agreed", **people)) == "costs of 0 of 3"
    assert standing(run_about(state="invited", **{**people, "joined": 1})) == "1 of 3 joined"
    assert standing(run_about(state="running", best=[12.5])) == "best 12.5"
    both = run_about(state="finished", best=[12.5, 7])
    assert standing(both) == "at best 12.5, 7, not in one plan"
    assert about(run_about(disclosures=["top:15"])) == "Assignment, top:15"


def test_a_list_says_when_something_happens() -> None:
    running: dict[str, Any] = {"state": "running", "deadline_at": 70.0, "generation": 12}
    assert detail(run_about(**running, reported_at=60.0), 60.0) == "10 s left, generation 12"
    sealed = run_about(**running, reported_at=52.0, disclosures=["sealed"])
    assert detail(sealed, 60.0) == "at most 10 s left, step 12"
    quiet = run_about(**running, reported_at=52.0)
    assert detail(quiet, 60.0) == "10 s left, nothing heard for 8 s"
    assert (worrying_silence(quiet, 60.0), worrying_silence(sealed, 60.0)) == (8.0, 0.0)
    assert detail(run_about(), 60.0) == "created 1 min ago"


def test_a_run_that_stalls_names_the_node_that_is_missed() -> None:
    there = a_node()
    gone = replace(a_node(reachable=False, last_seen=52.0), host="b", port=2)
    run = run_about(state="running", running_since=0.0, reported_at=50.0)
    nodes = a_cluster(there, gone)
    assert stall_words(run, nodes, 60.0, sealed=False) == (
        "Node 1 (b:2) cannot be reached since 00:00:52 UTC, 8 s ago. The search waits for it."
    )
    later = replace(run, reported_at=55.0)
    assert "since 00:00:55 UTC, 5 s ago" in str(stall_words(later, nodes, 60.0, sealed=False))
    silent = stall_words(run, a_cluster(there), 60.0, sealed=False)
    assert silent == "Nothing has come from the nodes since 00:00:50 UTC, 10 s ago."
    assert stall_words(run, a_cluster(there), 52.0, sealed=False) is None
    four = a_cluster(there, there, there, gone)
    spared = replace(run, terms=replace(run.terms, on_loss="three"))
    assert waits_for_nodes(run, four)
    assert not waits_for_nodes(spared, four)
    assert not waits_for_nodes(run, None)
