"""docs/nodes.md says of every file of a node whether it may be backed up."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from tacit.local.cluster import LocalCluster
from tacit.records.messages import End
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, populations, run
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed
from tests.support.repository import ROOT

SECTION = (ROOT / "docs" / "nodes.md").read_text().split("### What may be backed up")[1]
TABLE = re.findall(r"^\| (`.+?) \| .+? \| (.+?) \| .+? \|$", SECTION.split("\n**")[0], re.MULTILINE)


def patterns(cell: str, names: dict[str, str]) -> list[str]:
    found = re.findall(r"`([^`]+)`", cell)
    for name, pattern in names.items():
        found = [each.replace(name, pattern) for each in found]
    return found


def rows_for(path: str) -> list[str]:
    """What the table says of a file; the last row counts, as the longer pattern comes first."""
    digit = "[0-9a-f]"
    hashes = {"series/HASH": f"series/{digit * 64}", "HASH": digit * 32, "NAME": "*"}
    return [
        said
        for cell, said in TABLE
        for pattern in patterns(cell, hashes)
        if fnmatchcase(path, pattern)
    ]


def test_every_file_of_a_node_is_in_the_table(cluster: LocalCluster) -> None:
    """Of agreements under way and ended, with evaluations, sealed runs and plans for owners."""
    agreed, evaluated = draft(cluster, sealed(PROBLEMS["balanced"]())), AgreedCluster.draft(cluster)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(3, 3, until=None)
        async with evaluated.ready() as (coordinator, evaluations):
            await evaluations.evaluate(populations(1)[0], until=None)
            over = End(agreement=coordinator.hash, nonce=evaluated.agreement.nonce)
            await ask(coordinator.clients[0], over)

    run(work())
    files = {
        str(path.relative_to(cluster.folder)).replace("node-0.data/", "data/")
        for path in (cluster.folder / "node-0.data").rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }
    assert {"data/log.jsonl", "data/clocks"} <= files
    assert any(rows_for(each) == ["**never**"] for each in files)
    assert not {each for each in files if not rows_for(each)}
    for each in files:
        # Not one file by which a node that is set back could be asked twice.
        may_be_kept = "yes" in rows_for(each)[0]
        assert may_be_kept == bool(
            re.fullmatch(r"data/(log\..*|expired/.*|[0-9a-f]{32}/log\.jsonl)", each)
        )
