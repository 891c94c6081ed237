from __future__ import annotations

import asyncio
import dataclasses
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement.terms import agreement_hash, canonical
from tacit.errors import RefusedError
from tacit.identity.config import load_node_config
from tacit.node.admission import _public_weights, agree
from tacit.node.server import Node
from tacit.node.store import Store
from tacit.problems import Objective
from tacit.records.messages import Agree
from tests.node.one_node import drafted
from tests.on_nodes.fixtures import example_cast, example_problem


@pytest.mark.parametrize("objective", [0, 7])
def test_weights_of_public_objectives_alone_are_taken(objective: int) -> None:
    """Of others a node would keep on its disk whatever a platform likes."""
    cast = example_cast()
    search = replace(cast.agreement.search, populations="derived")
    agreement = replace(cast.agreement, search=search)
    request = Agree(
        id=1,
        agreement=canonical(agreement),
        signatures=cast.signatures,
        public_weights={objective: bytes(32)},
    )
    with pytest.raises(RefusedError, match=f"no public objective {objective}"):
        _public_weights(agreement, request)


def test_what_is_cancelled_while_it_is_written_is_here_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would count for nobody's limit, or lack what cannot be sent again."""
    node = Node(replace(load_node_config(folder / "node-0.toml"), any_search=True))
    fees = np.array([[4, 1], [2, 5]])
    public = Objective("fees", fees, confidential=False)
    problem = dataclasses.replace(
        example_problem(), objectives=(*example_problem().objectives, public)
    )
    few = {"population": 4, "elites": 1}
    agreement, signatures, platform = drafted(
        node, folder, problem, algorithm="nsga2", parameters=few, populations="derived"
    )
    request = Agree(
        agreement=canonical(agreement),
        signatures=signatures,
        public_weights={1: fees.astype("<i8").tobytes()},
    )
    begun, may_end, create = threading.Event(), threading.Event(), Store.create

    def slow(*args: Any) -> Store:
        begun.set()
        assert may_end.wait(60)
        return create(*args)

    monkeypatch.setattr(Store, "create", slow)

    async def ask_and_cancel() -> None:
        asking = asyncio.ensure_future(agree(node, request, platform))
        await asyncio.to_thread(begun.wait, 60)
        asking.cancel()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(ask_and_cancel())
    store = node.agreement_states[agreement_hash(agreement)].store
    assert store.public_weights()[1].tolist() == fees.tolist()
