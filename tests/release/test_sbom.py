"""Bills of materials: valid, complete, and the same whenever they are made."""

from __future__ import annotations

import json
from typing import Any

from release.locks import Locked, lock_file, read_lock
from release.sbom import bill_of_materials

PACKAGES = read_lock(lock_file("node").read_text())


def bill(packages: list[Locked]) -> str:
    """Of a node; making it checks it against the schema."""
    return bill_of_materials(packages, what="node", version="1.2.3", epoch=1_700_000_000)


def test_a_bill_has_every_package_with_its_hashes_and_what_needs_it() -> None:
    told: dict[str, Any] = json.loads(bill(PACKAGES))
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    assert told["metadata"]["component"]["version"] == "1.2.3"
    named = sorted((each["name"], each["version"]) for each in told["components"])
    assert named == sorted((each.name, each.version) for each in PACKAGES)
    hashes = {
        each["content"]
        for component in told["components"]
        for files in component["externalReferences"]
        for each in files["hashes"]
    }
    assert hashes == {each for package in PACKAGES for each in package.hashes}
    needs = {each["ref"]: each.get("dependsOn", []) for each in told["dependencies"]}
    names = {each["bom-ref"]: each["name"] for each in told["components"]}
    assert {"numpy", "cryptography"} <= {names[each] for each in needs["tacit-node"]}
    typer = next(ref for ref, name in names.items() if name == "typer")
    assert "rich" in {names[each] for each in needs[typer]}


def test_the_same_lock_gives_the_same_bill() -> None:
    own = [each for each in PACKAGES if "tacit (pyproject.toml)" in each.via]
    first, again, other = bill(own[:2]), bill(own[:2]), bill(own[:1])
    assert first == again
    assert json.loads(first)["serialNumber"] != json.loads(other)["serialNumber"]
