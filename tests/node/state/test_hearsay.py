"""What a node takes over when an epoch begins: one liar among three peers changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit.node.agreement_state import AgreementState
from tacit.node.epoch_state import bound_searches, common_answers, used_numbers
from tacit.node.store import Store
from tacit.records.ledger import DisclosedLabels
from tacit.records.log import FrozenInputs
from tacit.records.peer_messages import AnswersTold, EpochBegins
from tacit.records.requests import Attempt
from tests.on_nodes.fixtures import example_cast

TRUE, FALSE = DisclosedLabels([1, 0, 0, 0]), DisclosedLabels([0, 0, 0, 1])


@pytest.fixture
def held(tmp_path: Path) -> AgreementState:
    """What a node holds of an agreement whose inputs are frozen."""
    cast = example_cast()
    parameters = {"population": 4, "elites": 1}
    search = replace(cast.agreement.search, populations="derived", parameters=parameters)
    store = Store.create(tmp_path, replace(cast.agreement, search=search), cast.signatures)
    state = AgreementState(store, node=0, key=cast.sealing[0])
    state.inputs.frozen[0] = FrozenInputs("00", ())
    state.inputs.seed_contributions[0] = "00"
    return state


def begins(*used: tuple[int, bytes]) -> EpochBegins:
    return EpochBegins({0: list(used)}, {}, 0, "", b"")


def test_one_peer_of_three_uses_up_no_numbers(held: AgreementState) -> None:
    """It could use up all that the agreement allows, with one message."""
    honest = begins((1, b"a"))
    asyncio.run(held.epochs.hear([honest, begins((1, b"a"), (10, b"")), honest]))
    assert held.counters.by_objective[0].highest == 1


@pytest.mark.parametrize("liar", range(3))
def test_one_peer_of_three_invents_no_answer(held: AgreementState, liar: int) -> None:
    """Neither in place of one that was missed, nor to a population that nobody evaluated yet."""
    told = [[{0: TRUE}]] * 3
    told[liar] = [{0: FALSE}, {0: FALSE}, {0: FALSE}]
    asyncio.run(held.epochs.hear_missing([(begins(), AnswersTold(each)) for each in told]))
    assert [each.labels for each in held.store.answers.read()] == [TRUE.labels]


def test_what_two_peers_say_is_taken_over() -> None:
    """What only one honest peer has is asked for again; what all had, a liar cannot deny."""
    assert used_numbers([{0: [(7, b"a")]}, {0: [(7, b"b")]}, {}]) == {0: [(7, b"")]}
    assert used_numbers([{0: [(7, b"a")]}, {0: [(7, b"a"), (7, b"a")]}]) == {0: [(7, b"a")]}
    bound = {2: Attempt("7:1:0")}
    assert bound_searches([bound, {}, bound]) == [(2, "7:1:0")]
    assert bound_searches([bound, {}]) == [(2, "7:1:0")]
    # They may have been asked at different times.
    late = (5, [{0: TRUE}])
    assert common_answers([(4, [{0: FALSE}, {0: TRUE}]), late, (4, [{0: FALSE}])]) == (
        4,
        [{0: FALSE}, {0: TRUE}],
    )
    assert common_answers([(4, [{0: TRUE}]), (4, [])]) == (4, [{0: TRUE}])
