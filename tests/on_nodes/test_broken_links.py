"""Two live nodes whose link is broken speak through a third, and nobody is given up."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.local.cluster import LocalCluster
from tacit.local.node_processes import NodeProcess
from tacit.records.events import Connected, NodeLost, RelayBegun
from tests.on_nodes.agreed_cluster import AgreedCluster, populations, run
from tests.on_nodes.test_cut_off import Cable
from tests.on_nodes.test_failures import expected

pytestmark = pytest.mark.processes
PATIENCE = 120.0


class OneCable(LocalCluster):
    """Four nodes, of which the last one's way to the first is a cable of its own."""

    def __init__(self) -> None:
        super().__init__(nodes=4, chosen_populations=True)
        held = socket.create_server(("127.0.0.1", 0))
        self.cable = Cable(held, self.listen[0])
        host, port = held.getsockname()
        self._way = f'"{host}:{port}"'

    def _launch(self, node: int) -> NodeProcess:
        path: Path = self.folder / f"node-{node}.toml"
        if node == 3:
            path.write_text(path.read_text().replace(f'"{self.listen[0]}"', self._way))
        return super()._launch(node)


@pytest.fixture
def wired() -> Iterator[OneCable]:
    cluster = OneCable()
    with cluster:
        yield cluster


def test_a_broken_link_goes_through_another_node_and_then_through_the_next(
    wired: OneCable,
) -> None:
    agreed = AgreedCluster.draft(wired, on_loss="three")
    plans = populations(3)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            for number, lost in enumerate((None, None, 1)):
                if number == 1:
                    wired.cable.close()
                elif number == 2:
                    wired.kill(1)
                told = await evaluations.evaluate(plans[number], until=time.monotonic() + PATIENCE)
                assert told.without == lost
                assert told.payload.labels == expected(agreed, plans[number])

    run(evaluate())
    for node, peer in ((0, 3), (3, 0)):
        ways = [e.what for e in agreed.node_log(node) if isinstance(e, Connected) and e.what]
        assert ways == ["through node 1", "through node 2"]
        assert {e.peer for e in agreed.node_log(node) if isinstance(e, Connected) and e.what} == {
            f"node {peer}"
        }
    (passed,) = [e for e in agreed.node_log(2) if isinstance(e, RelayBegun)]
    assert (passed.peer, passed.what) == ("node 3", "to node 0")
    # No node that lived was given up by anybody.
    assert {e.node for node in (0, 2, 3) for e in agreed.events(node, NodeLost)} == {1}
