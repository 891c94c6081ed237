"""Drafts that are taken or refused, above all of sealed searches, and their agreements."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import msgspec
import pytest

from tacit.agreement.draft import check_agreement
from tacit.agreement.signatures import sealing_public
from tacit.agreement.terms import SAFE_GRACE, Agreement
from tacit.client import converted
from tacit.client.models import Generate
from tacit.client.terms import RunTerms
from tacit.errors import ParameterError, TacitError
from tacit.search import SearchParameters
from tacit.search.moves import AssignmentParameters, TourParameters
from tacit.service.api.watching import generated_terms
from tacit.service.workflow.drafting import (
    agreement_of_terms,
    checked_terms,
    placeholder_keys,
    placeholder_parties,
)
from tacit.service.workflow.terms import population_of_terms
from tests.service.example_terms import example_terms, plain_terms


def plain(terms: RunTerms) -> dict[str, Any]:
    draft: dict[str, Any] = msgspec.to_builtins(terms)
    return draft


def sealed_run(*, objectives: int = 1, best: str | None = None, **changes: Any) -> RunTerms:
    told = {} if best is None else {"best": best}
    one = {"sense": "minimize", "weight_bound": 1000, "disclosure": "sealed", **told}
    draft = {
        **plain_terms(),
        "preset": None,
        "parameters": {},
        "objectives": [{"name": f"o{k}", **one} for k in range(objectives)],
        **changes,
    }
    return converted(draft, RunTerms)


def agreed(terms: RunTerms, *, delay: float = 0.0, nodes: int = 3) -> Agreement:
    parties = placeholder_parties(placeholder_keys(terms.participants), nodes=nodes)
    return agreement_of_terms(terms, replace(parties, delay=delay))


def test_an_agreement_names_every_setting_of_the_search() -> None:
    parameters = agreed(example_terms()).search.parameters
    assert {"algorithm", *parameters} == {each.name for each in fields(SearchParameters)}
    assert parameters["ties"] == "random"
    changed = plain_terms()
    changed["parameters"]["ties"] = "first"
    assert agreed(converted(changed, RunTerms)).search.parameters["ties"] == "first"


def test_a_node_is_lost_after_the_time_that_the_terms_give() -> None:
    assert agreed(example_terms()).grace_seconds == SAFE_GRACE
    terms = converted({**plain_terms(), "on_loss": "three", "grace_seconds": 3.0}, RunTerms)
    agreement = agreed(terms, nodes=4)
    assert (agreement.on_loss, agreement.grace_seconds) == ("three", 3.0)
    with pytest.raises(ParameterError, match="grace_seconds"):
        converted({**plain_terms(), "grace_seconds": 0.01}, RunTerms)


def test_a_plan_is_for_its_owners_where_the_terms_say_so() -> None:
    assert not agreed(sealed_run()).for_owners
    terms = checked_terms(sealed_run(plan="owners"))
    agreement = agreed(terms)
    assert agreement.for_owners
    for each in agreement.participants:
        assert each.sealing_key == sealing_public(each.signing_key)
    open_search = converted({**plain_terms(), "plan": "owners"}, RunTerms)
    with pytest.raises(TacitError, match="only a sealed search can keep its plan"):
        checked_terms(open_search)
    with pytest.raises(ParameterError, match="plan"):
        sealed_run(plan="nobody")


def test_a_sealed_search_tells_nothing_of_its_best_unless_asked_to() -> None:
    agreement = agreed(sealed_run())
    assert agreement.sealed
    assert agreement.objectives[0].best == "nothing"
    assert settings_of(agreement).checkpoints == ""
    assert settings_of(agreement).gap == 0
    assert agreement.sealed_run.weightings == ((1,),)
    assert agreed(sealed_run(best="value")).objectives[0].best == "value"
    assert population_of_terms(sealed_run()) == 0
    drawn = generated_terms(Generate(kind="tsp", rows=5, disclosure="sealed"))
    assert {each.best for each in drawn.objectives} == {"nothing"}
    checked_terms(drawn)


def test_several_sealed_objectives_are_a_front_of_weightings() -> None:
    weightings = agreed(sealed_run(objectives=2)).sealed_run.weightings
    assert weightings == ((4, 0), (3, 1), (2, 2), (1, 3), (0, 4))


def test_weightings_can_be_chosen() -> None:
    chosen = sealed_run(objectives=2, weightings=["3:1", "1:1"])
    assert agreed(chosen).sealed_run.weightings == ((3, 1), (1, 1))
    with pytest.raises(ParameterError, match="weightings"):
        sealed_run(weightings=["3:x"])


def settings_of(agreement: Agreement) -> AssignmentParameters:
    found = agreement.sealed_run.parameters
    assert isinstance(found, AssignmentParameters)
    return found


OPEN: dict[str, Any] = {"limits": {"evaluations": None}}


def test_settings_of_a_sealed_assignment_can_be_chosen() -> None:
    chosen = {"iterations": 9, "checkpoints": "3:5", "gap": 2, "together": 1}
    settings = settings_of(agreed(sealed_run(**OPEN, parameters=chosen)))
    assert {name: getattr(settings, name) for name in chosen} == chosen


def test_settings_of_a_sealed_tour_can_be_chosen() -> None:
    drawn = plain(generated_terms(Generate(kind="tsp", rows=5, disclosure="sealed")))
    named = {"children": 40, "heat_start": 200}
    found = agreed(converted({**drawn, "parameters": named}, RunTerms)).sealed_run
    assert isinstance(found.parameters, TourParameters)
    assert (found.parameters.children, found.parameters.heat_start) == (40, 200)


def test_a_sealed_tour_ends_after_a_public_number_of_generations() -> None:
    drawn = plain(generated_terms(Generate(kind="tsp", rows=5, disclosure="sealed")))
    for given, agreed_on in ((None, 200), (90, 90), (10_000, 200)):
        terms = converted({**drawn, "limits": {"evaluations": given}}, RunTerms)
        assert agreed(checked_terms(terms)).limits.evaluations == agreed_on


@pytest.mark.parametrize("given", [None, 1, 7, 25, 10_000])
@pytest.mark.parametrize("delay", [0.0, 0.02, 1.0])
@pytest.mark.parametrize("nodes", [3, 4])
def test_an_assignment_has_the_steps_that_are_agreed_on(
    given: int | None, delay: float, nodes: int
) -> None:
    """Whatever was checked before the nodes were known can be agreed on with any nodes."""
    limits = {"evaluations": given}
    for seconds in (0.5, 5.0, 600.0):
        terms = checked_terms(sealed_run(deadline_seconds=seconds, limits=limits))
        assert terms.limits.evaluations == given
        drafted = agreed(terms, delay=delay, nodes=nodes)
        check_agreement(drafted)
        settings = settings_of(drafted)
        assert drafted.is_exact
        assert drafted.limits.evaluations == settings.steps
        assert settings.iterations >= 1
        assert given is None or settings.steps <= max(given, 1)


def test_an_assignment_has_as_many_steps_as_fit_its_time() -> None:
    rows = {"rows": 40, "columns": 40, "name": "forty", "kind": "assignment"}
    owners = {"north": list(range(20)), "south": list(range(20, 40))}
    large: dict[str, Any] = {**OPEN, "problem": rows, "participants": owners}
    usual = settings_of(agreed(sealed_run(**large, deadline_seconds=60.0)))
    assert 40 < usual.iterations < 80
    assert usual.least * 3 >= usual.iterations
    assert usual.seconds == 60
    slow = settings_of(agreed(sealed_run(**large, deadline_seconds=60.0), delay=1.0))
    assert slow.iterations < usual.iterations
    assert slow.lag == 1
    assert 0 < slow.least < usual.least


def test_checkpoints_stay_agreeable_where_distant_nodes_make_fewer_steps() -> None:
    terms = checked_terms(sealed_run(**OPEN, parameters={"checkpoints": "1:2:9:999"}))
    near, far = agreed(terms), agreed(terms, delay=1.0)
    for each in (near, far):
        settings = settings_of(each)
        assert all(told < settings.iterations for told in settings.checkpoint_iterations)
    assert settings_of(near).checkpoints != settings_of(far).checkpoints


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"best": "improvement"}, "no plans on the way"),
        ({"preset": "tuned-ap"}, "leave the preset out"),
        ({"parameters": {"population": 20}}, "'population' is a setting of the genetic search"),
        ({"parameters": {"children": 20}}, "'children' is a setting of a sealed tour"),
        ({"parameters": {"least": 0}}, "'least' is not a setting"),
        ({"parameters": {"seconds": 1}}, "'seconds' is not a setting"),
        ({"parameters": {"iterations": "six"}}, "iterations is 'six' .*; correct it"),
        ({"parameters": {"iterations": 9, "checkpoints": "9"}}, "leave it out"),
        ({"parameters": {"checkpoints": "9:4"}}, "in their order"),
        ({"parameters": {"gap": 1}}, "gap is 1"),
        ({"weightings": ["3:1"]}, "does not fit"),
        ({"reveal_best": True}, "leave reveal_best out"),
        ({"limits": {"distinct_min": 3}}, "leave distinct_min out"),
    ],
)
def test_what_a_sealed_search_cannot_do_is_refused_at_once(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(TacitError, match=words):
        checked_terms(sealed_run(**changes))


def test_one_sealed_objective_beside_an_open_one_is_refused() -> None:
    terms = plain(sealed_run(objectives=2))
    terms["objectives"][1]["disclosure"] = "top:5"
    with pytest.raises(TacitError, match="seal all or none"):
        checked_terms(converted(terms, RunTerms))


def pareto_run(*, objectives: int = 2, **changes: Any) -> RunTerms:
    one = {"sense": "minimize", "weight_bound": 1000, "disclosure": "pareto:quantiles:20"}
    draft = {
        **plain_terms(),
        "preset": None,
        "parameters": {},
        "objectives": [{"name": f"o{k}", **one} for k in range(objectives)],
        **changes,
    }
    return converted(draft, RunTerms)


def test_objectives_that_are_evaluated_together() -> None:
    checked_terms(pareto_run())
    agreement = agreed(pareto_run())
    assert agreement.together
    assert (agreement.confidential(), agreement.evaluated()) == ([0, 1], [0])
    assert agreement.search.algorithm == "nsga2"
    assert {each.best for each in agreement.objectives} == {"nothing"}
    with pytest.raises(TacitError, match="of all objectives together"):
        checked_terms(pareto_run(objectives=1))
    with pytest.raises(TacitError, match="truly best"):
        checked_terms(pareto_run(reveal_best=True))
