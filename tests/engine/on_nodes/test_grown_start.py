"""A search that begins with a grown plan, on real nodes: the twin's plan all along."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.engine.agreement.sealed import pin_sealed, sealed_terms
from tacit.engine.derived import clear_start
from tacit.engine.local.cluster import LocalCluster
from tacit.errors import AgreementError
from tacit.problems import generate_assignment, generate_named
from tacit.runs import SimulatedSealedSearch
from tacit.search.moves import SealedParameters, named_settings, public_shape
from tacit.search.sealed import value_table
from tests.engine.agreed_cluster import run
from tests.engine.sealed_agreed_cluster import begin, draft, sealed, start_of

pytestmark = pytest.mark.processes
GROWN = SealedParameters(block=4, finish=2, start="grown")


def test_three_nodes_begin_with_the_plan_of_the_twin_and_go_on_from_it(
    cluster: LocalCluster,
) -> None:
    problem = generate_named("sparse", 3, rows=12)
    agreed = draft(cluster, sealed(problem, "value"), search=pin_sealed(GROWN))
    shape = public_shape(problem, (1,))
    expected = clear_start(value_table(problem, (1,)), problem, shape)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            assert np.array_equal(start_of(agreed), expected[None])
            twin = SimulatedSealedSearch(agreed.problem, GROWN, (1,), seed=search.seed, stream=0)
            await search.advance(3, 20, until=None)
            await search.advance(2, 20, until=None, turn=3)
            twin.advance(3, 20, until=None)
            twin.advance(2, 20, until=None, turn=3)
            opened, clear = await search.open(until=None), twin.open(until=None)
            assert (opened.plan, opened.value) == (clear.plan, clear.value)

    run(work())


def test_no_start_is_grown_where_all_pairs_are_allowed(cluster: LocalCluster) -> None:
    whole = sealed(generate_assignment(1, rows=12, participants=3), "value")
    with pytest.raises(AgreementError, match="set start to drawn"):
        draft(cluster, whole, search=pin_sealed(GROWN))


def test_agreements_that_do_not_name_the_start_draw_it(cluster: LocalCluster) -> None:
    drawn = SealedParameters(block=4)
    assert "start" not in named_settings(drawn)
    problem = sealed(generate_named("sparse", 3, rows=12), "value")
    agreed = draft(cluster, problem, search=pin_sealed(drawn))
    terms = sealed_terms(agreed.agreement).parameters
    assert isinstance(terms, SealedParameters)
    assert terms.start == "drawn"
