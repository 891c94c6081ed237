"""Numbers of epochs, and whom nodes may go on without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import RefusedError
from tacit.node.agreement_state import AgreementState
from tacit.node.store import Store
from tests.on_nodes.fixtures import example_cast
from tests.on_nodes.owners_cast import owners_cast


def test_a_number_of_an_epoch_is_used_up_on_the_disk(tmp_path: Path) -> None:
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)

    def state() -> AgreementState:
        return AgreementState(Store(store.folder), node=0, key=cast.sealing[0])

    first = state()
    first.epochs.begin(5)
    # Attempts are named after it: a power cut must not take the line either.
    assert first.store.log.is_synced
    for again in (first, state()):
        for number in (4, 5):
            with pytest.raises(RefusedError, match="only grow"):
                again.epochs.begin(number)
    state().epochs.begin(6)


def test_three_go_on_only_as_agreed_and_once(tmp_path: Path) -> None:
    def state(name: str, nodes: int = 4, *, on_loss: str = "three") -> AgreementState:
        agreement = owners_cast(nodes, on_loss=on_loss).agreement
        return AgreementState(Store.create(tmp_path / name, agreement, {}), node=0, key=None)

    for name, nodes, on_loss in (("three", 3, "wait"), ("waits", 4, "wait")):
        with pytest.raises(RefusedError, match="was not agreed"):
            state(name, nodes, on_loss=on_loss).epochs.check_without(2, 0)
    epochs = state("four").epochs
    epochs.check_without(2, 0)
    for nobody in (0, 4):
        with pytest.raises(RefusedError, match="cannot go on without"):
            epochs.check_without(nobody, 0)
    epochs.check_signs()
    epochs.opened(7, 2)
    epochs.check_without(2, 0)
    with pytest.raises(RefusedError, match="happens once"):
        epochs.check_without(3, 0)
    epochs.opened(8, None)
    epochs.check_all_can_go_on()
    for node in (2, 3):
        with pytest.raises(RefusedError, match="happens once"):
            epochs.check_without(node, 0)
    # What three left was checked by nobody, so that nothing is signed any more.
    with pytest.raises(RefusedError, match="unchecked"):
        epochs.check_signs()
