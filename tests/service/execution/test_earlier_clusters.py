"""Which nodes the platform asks for balances that move, and what it says of those it cannot ask."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit.engine.identity.cluster_files import write_cluster
from tacit.engine.series import SeriesNode, SignedSeries, read_series
from tacit.errors import MpcError
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.earlier_clusters import earlier_nodes
from tacit.service.server.settings import ClusterSettings
from tacit.service.workflow.continued import moved_from
from tacit.service.workflow.lifecycle import State
from tests.service.api.test_series_order import given_up, signed
from tests.service.world import MakeWorld, World


def moved(world: World, series_id: str) -> SignedSeries | None:
    with world.platform.database.writing() as session:
        return moved_from(session, series_id)


def test_balances_move_where_the_nodes_are_others(
    make_world: MakeWorld, cluster: Path, tmp_path: Path
) -> None:
    other = write_cluster(tmp_path / "other", [f"127.0.0.1:{9200 + i}" for i in range(4)])[-1]
    files = [ClusterSettings(name="old", file=str(cluster)), ClusterSettings("new", str(other))]
    world = make_world(cluster=files)
    world.add("op", "operator")
    first = signed(world, cluster="old")
    given_up(world, first, State.AGREED, State.SUBMITTED)
    stays = signed(world, continues=first)
    given_up(world, stays, State.AGREED, State.SUBMITTED)
    moves = signed(world, continues=stays, cluster="new")
    assert (moved(world, first), moved(world, stays)) == (None, None)
    found = moved(world, moves)
    assert found is not None
    assert set(found.signatures) == {"north", "south", "outsider"}
    assert all(found.signatures.values())
    document = world.call("GET", f"/series/{moves}/document", "north").content
    assert len(read_series(document).nodes) == 4

    links = {each.name: ClusterLinks(each.name, Path(each.file), slots=1) for each in files}
    nodes = read_series(found.data).nodes
    for number, node in enumerate(nodes):
        assert links["new"].client_of(node) is None
        client, is_same_key = links["old"].client_of(node) or (None, False)
        assert client is not None
        assert (client.number, is_same_key) == (number, True)
    rotated = replace(nodes[1], signing_key="ab" * 32)
    assert (links["old"].client_of(rotated) or (None, True))[1] is False
    assert links["old"].client_of(SeriesNode("gone.example", 1, "ab" * 32)) is None

    del links["old"]
    with pytest.raises(MpcError, match=r"node 0 of the earlier series, at 127\.0\.0\.1:9100, has"):
        asyncio.run(earlier_nodes(links, found).head())
