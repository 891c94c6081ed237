"""What a node drops of the rows that participants have submitted, and until when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.node import preparing
from tacit.node.agreement_state import AgreementState
from tacit.node.store import Store, StoredInput
from tacit.records.ballots import Phase, Subject, SubjectKind, Vote
from tests.on_nodes.fixtures import example_cast

INPUTS = Subject(SubjectKind.INPUTS, 0)


@pytest.mark.parametrize(
    ("voted", "drops"),
    [
        ([], True),
        ([(Phase.STATUS, 1)], True),
        ([(Phase.WILLING, 0)], False),
        ([(Phase.WILLING, 0), (Phase.STATUS, 1)], False),
        ([(Phase.BOUND, 0), (Phase.STATUS, 2)], False),
    ],
)
def test_rows_are_dropped_until_the_node_has_voted_for_a_value(
    tmp_path: Path, voted: list[tuple[Phase, int]], drops: bool
) -> None:
    """They may be frozen elsewhere then. Without a value nothing is, and rows stayed for ever."""
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)
    state = AgreementState(store, node=0, key=cast.sealing[0])
    for phase, ballot in voted:
        value = "" if phase is Phase.STATUS else "one value"
        state.votes.write(Vote(0, INPUTS, ballot, phase, value))
    for each in (state, AgreementState(Store(store.folder), node=0, key=cast.sealing[0])):
        forgotten: list[Any] = []
        each.inputs.forget = lambda *about, seen=forgotten: seen.append(about)  # type: ignore[method-assign]
        rows = StoredInput(b"manifest", b"signature", b"box")
        preparing._drop(each, 0, {"owner": rows}, "owner", "differs")
        assert bool(forgotten) is drops
