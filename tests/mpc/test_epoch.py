"""The key of a component comes from all of its holders, and all know that it is the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tacit.errors import MaskReuseError, PeerError
from tacit.mpc import COORDINATOR, Context, agree_epoch
from tacit.mpc.epoch import KEY_BYTES, Epoch, _component_key, cost
from tacit.mpc.local import run_linked
from tacit.mpc.shares import held_by
from tacit.mpc.transport.frame import HEADER_BYTES
from tacit.mpc.transport.mux import Mux
from tests.mpc.both import three_and_four
from tests.mpc.tampering import flipping, lying, what_leaves

GIVEN = {1: bytes([1]) * KEY_BYTES, 2: bytes([2]) * KEY_BYTES, 3: bytes([3]) * KEY_BYTES}
CONTEXT = Context(b"agreement", 0, 1, 0, b"request")


@three_and_four
def test_keys_are_fresh_in_every_epoch_and_common_to_all_holders(nodes: int) -> None:
    async def node(me: int, muxes: dict[int, Mux]) -> list[Epoch]:
        if me == COORDINATOR:
            return []
        return [await agree_epoch(me, muxes, number=k, timeout=5) for k in (0, 1)]

    parties = run_linked(node, nodes=nodes)[:nodes]
    for k in (0, 1):
        for c in range(nodes):
            assert len({parties[i][k]._keys[c] for i in range(nodes) if i != c}) == 1
        assert len({epochs[k].greeting(CONTEXT) for epochs in parties}) == 1
        assert {epochs[k].nodes for epochs in parties} == {nodes}
    keys = {key for epochs in parties for epoch in epochs for key in epoch._keys.values()}
    assert len(keys) == 2 * nodes
    assert len({epoch.greeting(CONTEXT) for epochs in parties for epoch in epochs}) == 2


@three_and_four
def test_a_node_has_the_keys_of_its_own_components_only(nodes: int) -> None:
    """Nothing that arrives at it is, or contributes to, the key that it lacks."""

    async def node(me: int, muxes: dict[int, Mux]) -> Epoch | None:
        if me == COORDINATOR:
            return None
        return await agree_epoch(me, muxes, timeout=5)

    with what_leaves() as left:
        epochs = [epoch for epoch in run_linked(node, nodes=nodes) if epoch is not None]
    for me, epoch in enumerate(epochs):
        assert sorted(epoch._keys) == sorted(held_by(me, nodes))
        first, second = KEY_BYTES * (nodes - 2), KEY_BYTES * (nodes - 1)
        heard = [frame.payload for frame in left if frame.receiver == f"node {me}"]
        assert sorted(map(len, heard)) == [first] * (nodes - 1) + [second] * (nodes - 1)
        missing = next(e._keys[me] for other, e in enumerate(epochs) if other != me)
        assert not any(missing in payload for payload in heard)


@three_and_four
def test_agreeing_on_keys_costs_what_is_declared(nodes: int) -> None:
    async def node(me: int, muxes: dict[int, Mux]) -> None:
        if me != COORDINATOR:
            await agree_epoch(me, muxes, timeout=5)

    with what_leaves() as left:
        run_linked(node, nodes=nodes)
    sent: Counter[str] = Counter()
    for frame in left:
        sent[frame.sender] += HEADER_BYTES + len(frame.payload)
    declared = cost(nodes)
    assert tuple(sent[f"node {i}"] for i in range(nodes)) == declared.sent
    assert max(frame.header.depth for frame in left) == declared.rounds


def test_a_key_needs_every_contribution_and_is_bound_to_its_component() -> None:
    keys = {_component_key(b"about", 0, GIVEN)}
    for node, given in GIVEN.items():
        for byte in (0, KEY_BYTES - 1):
            changed = bytearray(given)
            changed[byte] ^= 1
            keys.add(_component_key(b"about", 0, {**GIVEN, node: bytes(changed)}))
    swapped = {1: GIVEN[2], 2: GIVEN[1], 3: GIVEN[3]}
    keys |= {
        _component_key(b"about", 0, swapped),
        _component_key(b"about", 1, GIVEN),
        _component_key(b"other", 0, GIVEN),
    }
    assert len(keys) == 1 + 2 * 3 + 3


async def attempt(me: int, muxes: dict[int, Mux]) -> str:
    """What is wrong with the epoch, if anything."""
    try:
        if me != COORDINATOR:
            await agree_epoch(me, muxes, timeout=5)
    except PeerError as error:
        return str(error)
    return ""


def test_masks_and_greetings_depend_on_the_state() -> None:
    """The same evaluation from another state has other masks; an epoch gives them once."""
    keys = {c: bytes([c]) * KEY_BYTES for c in (1, 2)}
    states = (b"", b"one", b"two")
    drawn = {Epoch(keys).masks(CONTEXT, state).words("x", 1, 4).tobytes() for state in states}
    assert len(drawn) == len(states)
    assert len({Epoch(keys).greeting(CONTEXT, state) for state in states}) == len(states)
    epoch = Epoch(keys)
    epoch.masks(CONTEXT, b"one")
    with pytest.raises(MaskReuseError, match="computed before"):
        epoch.masks(CONTEXT, b"two")
    # An attempt names one computation: asked for otherwise, it would leave another state so named.
    with pytest.raises(MaskReuseError, match="computed before"):
        epoch.masks(replace(CONTEXT, request=b"another"), b"one")


def test_nodes_that_name_other_members_have_no_epoch_in_common() -> None:
    """One takes itself for node 3 of four, of which another was lost; its place is the same."""

    async def party(me: int, muxes: dict[int, Mux]) -> str:
        return await attempt(3 if me == 2 else me, muxes)

    assert all("do not all have the same key" in said for said in run_linked(party, nodes=3)[:3])


@pytest.mark.parametrize(
    ("component", "victim"), [(c, v) for c in range(1, 4) for v in range(1, 4) if c != v]
)
def test_a_node_that_gives_others_different_keys_ends_the_epoch_of_all(
    component: int, victim: int
) -> None:
    """Node 0 gives one holder of a component another contribution than the other holders."""
    common = [c for c in sorted(held_by(0, 4)) if c != victim]
    lie = flipping(KEY_BYTES * common.index(component), 1)

    async def party(me: int, muxes: dict[int, Mux]) -> str:
        return await attempt(me, lying(muxes, victim, lie) if me == 0 else muxes)

    said = run_linked(party, nodes=4)
    for honest in (1, 2, 3):
        assert f"not all have the same key of component {component}" in said[honest]
        assert said[honest].startswith("node 0 and ")  # never one alone, who may be honest


@three_and_four
@pytest.mark.parametrize("byte", [0, -1])
def test_every_byte_of_a_key_hash_is_compared(nodes: int, byte: int) -> None:
    async def party(me: int, muxes: dict[int, Mux]) -> str:
        return await attempt(me, lying(muxes, 1, flipping(byte, 2)) if me == 0 else muxes)

    assert "do not all have the same key" in run_linked(party, nodes=nodes)[1]


@three_and_four
@pytest.mark.parametrize("round_", [1, 2])
def test_a_contribution_of_the_wrong_size_is_refused(nodes: int, round_: int) -> None:
    async def party(me: int, muxes: dict[int, Mux]) -> str:
        def short(depth: int, payload: bytes) -> bytes:
            return payload[1:] if depth == round_ else payload

        return await attempt(me, lying(muxes, 1, short) if me == 0 else muxes)

    size = KEY_BYTES * (nodes - 3 + round_)
    said = run_linked(party, nodes=nodes)
    assert said[1] == f"node 0: sent {size - 1} bytes for keys where {size} were due"
