"""How an epoch without a node begins: what was looked at before a wait is looked at again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.errors import RefusedError
from tacit.node.agreement_state import AgreementState
from tacit.node.epochs import open_epoch
from tacit.node.store import Store
from tacit.records.messages import OpenEpoch
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.fixtures import example_cast


def test_two_nodes_that_are_missed_at_once_are_not_both_lost(tmp_path: Path) -> None:
    """While this node waits for the one, it goes on without the other."""
    cast = example_cast()
    nodes = [*cast.agreement.nodes, cast.agreement.nodes[0]]
    agreement = replace(cast.agreement, nodes=nodes, on_loss="three")
    store = Store.create(tmp_path, agreement, cast.signatures)
    held = AgreementState(store, node=0, key=cast.sealing[0])

    async def is_gone(lost: int, *, grace: float) -> bool:
        held.epochs.begin(5)
        held.epochs.opened(5, 1)
        return True

    here: Any = SimpleNamespace(number=0, name="node 0", peers=SimpleNamespace(is_gone=is_gone))
    request = OpenEpoch(agreement=held.hash, epoch=6, without=2)
    with pytest.raises(RefusedError, match="went on without a node before"):
        run(open_epoch(here, held, request))
    assert (held.epochs.last, held.epochs.lost) == (5, 1)
