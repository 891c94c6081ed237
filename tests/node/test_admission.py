from __future__ import annotations

import asyncio
import dataclasses
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement.signatures import sign
from tacit.agreement.terms import agreement_hash, canonical
from tacit.errors import AgreementError, RefusedError
from tacit.identity.config import load_node_config
from tacit.node.admission import (
    _check_signed,
    _public_weights,
    _read,
    agree,
    check_allowed,
    check_parties,
)
from tacit.node.server import Node
from tacit.node.store import Store, folder_name
from tacit.problems import Objective
from tacit.records.messages import Agree
from tests.node.one_node import agree as taken
from tests.node.one_node import drafted, node
from tests.on_nodes.fixtures import example_cast, example_problem
from tests.on_nodes.owners_cast import owners_cast


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


# What is refused, each for itself.


def test_an_agreement_is_signed_by_all_and_sent_by_its_platform() -> None:
    cast = owners_cast()
    data, digest = canonical(cast.agreement), cast.agreement.digest
    signed = {name: sign(key, "agreement", digest) for name, key in cast.participants.items()}
    _check_signed(data, signed, lambda platform: platform == cast.agreement.platform)
    for name in signed:
        without = {other: each for other, each in signed.items() if other != name}
        with pytest.raises(AgreementError, match="has not signed"):
            _check_signed(data, without, lambda _: True)
    with pytest.raises(RefusedError, match="another platform"):
        _check_signed(data, signed, lambda _: False)


def test_an_agreement_is_between_the_parties_that_this_node_knows() -> None:
    agreement = example_cast().agreement

    def parties(**changes: Any) -> Any:
        known = {
            "nodes": 3,
            "knows": lambda _node, _certificate: True,
            "are_one_platform": lambda one, other: one == other,
        }
        return SimpleNamespace(**{**known, **changes})

    check_parties(agreement, agreement.platform, parties())
    for platform, known, words in (
        ("ab" * 32, parties(), "another platform"),
        (agreement.platform, parties(nodes=4), "names 3 nodes and this cluster has 4"),
        (agreement.platform, parties(knows=lambda node, _: node != 2), "gives node 2 another"),
    ):
        with pytest.raises(RefusedError, match=words):
            check_parties(agreement, platform, known)


def test_an_agreement_that_expired_contradicts_itself_or_is_not_allowed_is_refused() -> None:
    agreement = example_cast().agreement

    def read(**changes: Any) -> None:
        _read(Agree(id=1, agreement=canonical(replace(agreement, **changes)), signatures={}))

    read()
    with pytest.raises(RefusedError, match="expired"):
        read(limits=replace(agreement.limits, expires=1))
    with pytest.raises(AgreementError):
        read(objectives=[replace(agreement.objectives[0], owners=[])])
    config: Any = SimpleNamespace(
        any_search=True, chosen_populations=True, most_working_megabytes=100
    )
    check_allowed(agreement, config)
    config.chosen_populations = False
    with pytest.raises(RefusedError, match="chooses what is evaluated"):
        check_allowed(agreement, config)


def test_an_agreement_is_known_to_its_platform_alone(folder: Path) -> None:
    here = node(folder)
    agreement, _, platform = taken(here, folder)
    digest = agreement_hash(agreement)
    assert here.agreement_state(digest, platform).agreement == agreement
    with pytest.raises(RefusedError, match="not known here"):
        here.agreement_state(digest, "ab" * 32)
    with pytest.raises(RefusedError, match="not known here"):
        here.agreement_state(bytes(32), platform)
    here.broken.add(folder_name(digest))
    with pytest.raises(RefusedError, match="damaged"):
        here.agreement_state(digest, platform)
