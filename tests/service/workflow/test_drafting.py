"""What may be drafted, above all of sealed searches, and what their agreement says."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from pydantic import ValidationError

from tacit.engine.agreement.participant_keys import sealing_public
from tacit.engine.agreement.sealed import finish_of, is_exact, sealed_terms
from tacit.engine.agreement.terms import Agreement
from tacit.engine.identity.keys import Keys
from tacit.errors import TacitError
from tacit.participant.explanations import search_words
from tacit.search import SearchParameters
from tacit.search.moves import ExactParameters, SealedParameters, fitted_parameters
from tacit.service.api.routes.status import Generate, generated_terms
from tacit.service.api.terms import RunTerms
from tacit.service.workflow.drafting import (
    agreement_of_terms,
    checked_terms,
    node_of_nobody,
    population_of_terms,
)
from tests.service.example_terms import example_terms


def sealed_run(*, objectives: int = 1, best: str | None = None, **changes: Any) -> RunTerms:
    told = {} if best is None else {"best": best}
    one = {"sense": "minimize", "weight_bound": 1000, "disclosure": "sealed", **told}
    draft = {
        **example_terms().model_dump(),
        "preset": None,
        "parameters": {},
        "objectives": [{"name": f"o{k}", **one} for k in range(objectives)],
        **changes,
    }
    return RunTerms.model_validate(draft)


def agreed(terms: RunTerms, *, delay: float = 0.0) -> Agreement:
    owners = {name: Keys.new(name).signing_public for name in terms.participants}
    nonce, platform = f"{1:032x}", f"{9:064x}"
    nodes = [node_of_nobody(k, nonce, platform) for k in range(1, 4)]
    return agreement_of_terms(
        terms, keys=owners, nodes=nodes, platform=platform, nonce=nonce, delay=delay
    )


def test_an_agreement_names_every_setting_of_the_search() -> None:
    parameters = agreed(example_terms()).search.parameters
    assert {"algorithm", *parameters} == {each.name for each in fields(SearchParameters)}
    assert parameters["ties"] == "random"
    changed = example_terms().model_dump()
    changed["parameters"]["ties"] = "first"
    assert agreed(RunTerms.model_validate(changed)).search.parameters["ties"] == "first"


def test_a_plan_is_for_its_owners_where_the_terms_say_so() -> None:
    assert not agreed(sealed_run()).for_owners
    terms = checked_terms(sealed_run(plan="owners"))
    agreement = agreed(terms)
    assert agreement.for_owners
    for each in agreement.participants:
        assert each.sealing_key == sealing_public(each.signing_key)
    open_search = RunTerms.model_validate({**example_terms().model_dump(), "plan": "owners"})
    with pytest.raises(TacitError, match="only a sealed search can keep its plan"):
        checked_terms(open_search)
    with pytest.raises(ValidationError, match="plan"):
        sealed_run(plan="nobody")


def test_a_sealed_search_tells_nothing_of_its_best_unless_asked_to() -> None:
    agreement = agreed(sealed_run())
    assert agreement.sealed
    assert (agreement.objectives[0].best, agreement.limits.evaluations) == ("nothing", 500)
    fitted = fitted_parameters(agreement.known_problem)
    assert sealed_terms(agreement).parameters == replace(fitted, finish=4)
    assert sealed_terms(agreement).weightings == ((1,),)
    assert agreed(sealed_run(best="value")).objectives[0].best == "value"
    assert population_of_terms(sealed_run()) == 0
    drawn = generated_terms(Generate(kind="tsp", rows=5, disclosure="sealed"))
    assert {each.best for each in drawn.objectives} == {"nothing"}
    checked_terms(drawn)


def test_several_sealed_objectives_are_a_front_of_weightings() -> None:
    weightings = sealed_terms(agreed(sealed_run(objectives=2))).weightings
    assert weightings == ((4, 0), (3, 1), (2, 2), (1, 3), (0, 4))


def test_weightings_can_be_chosen() -> None:
    chosen = sealed_run(objectives=2, weightings=["3:1", "1:1"])
    assert sealed_terms(agreed(chosen)).weightings == ((3, 1), (1, 1))
    with pytest.raises(ValidationError, match="weightings"):
        sealed_run(weightings=["3:x"])


def test_settings_of_a_sealed_search_can_be_chosen() -> None:
    chosen = sealed_terms(agreed(sealed_run(parameters={"block": 4, "heat_start": 200})))
    assert isinstance(chosen.parameters, SealedParameters)
    assert (chosen.parameters.block, chosen.parameters.heat_start) == (4, 200)


def test_the_exact_solver_can_be_chosen_and_has_its_phases() -> None:
    drafted = agreed(sealed_run(parameters={"method": "exact", "phases": 9}))
    assert sealed_terms(drafted).parameters == ExactParameters(phases=9)
    assert drafted.limits.evaluations == 9


def test_a_search_with_time_for_it_gets_a_finish_which_the_agreement_says() -> None:
    small: dict[str, Any] = {"deadline_seconds": 20.0, "limits": {"evaluations": None}}
    terms = checked_terms(sealed_run(**small))
    # What is agreed on does not depend on whether the limits were left open.
    for each in (sealed_run(**small), terms):
        drafted = agreed(each)
        assert (finish_of(drafted), is_exact(drafted)) == (4, True)
        assert drafted.limits.evaluations == 20_000
    assert drafted.search.parameters["finish"] == 4
    assert "of which the last 4 may compute the best" in search_words(drafted).limit
    plain = agreed(sealed_run(**small, parameters={"method": "search"}))
    assert (finish_of(plain), is_exact(plain)) == (0, False)
    assert "finish" not in plain.search.parameters
    assert finish_of(agreed(sealed_run(**small, parameters={"finish": 3}))) == 3
    assert finish_of(agreed(sealed_run(**{**small, "deadline_seconds": 0.5}))) == 0
    # Distant nodes would not come to its end.
    assert finish_of(agreed(sealed_run(**small), delay=0.1)) == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"best": "improvement", "parameters": {"finish": 2}}, "tells nothing of improvements"),
        ({"preset": "tuned-ap"}, "leave the preset out"),
        ({"parameters": {"population": 20}}, "'population' is a setting of the genetic search"),
        ({"parameters": {"block": "six"}}, "block is 'six' .*; correct it"),
        ({"parameters": {"heat_end": 900}}, "let it fall"),
        ({"weightings": ["3:1"]}, "does not fit"),
        ({"parameters": {"finish": 12}, "limits": {"evaluations": 10}}, "finish has 12 phases"),
        ({"best": "improvement", "parameters": {"parents": 2}}, "with one parent"),
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
    terms = sealed_run(objectives=2).model_dump()
    terms["objectives"][1]["disclosure"] = "top:5"
    with pytest.raises(TacitError, match="seal all or none"):
        checked_terms(RunTerms.model_validate(terms))


def pareto_run(*, objectives: int = 2, **changes: Any) -> RunTerms:
    one = {"sense": "minimize", "weight_bound": 1000, "disclosure": "pareto:quantiles:20"}
    draft = {
        **example_terms().model_dump(),
        "preset": None,
        "parameters": {},
        "objectives": [{"name": f"o{k}", **one} for k in range(objectives)],
        **changes,
    }
    return RunTerms.model_validate(draft)


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
