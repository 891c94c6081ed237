"""A bill of materials (CycloneDX 1.6, JSON) from a lock file; the same lock, the same bytes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model import Property as Extra
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from packageurl import PackageURL

from release.locks import Locked


def bill_of_materials(packages: list[Locked], /, *, what: str, version: str, epoch: int) -> str:
    """All locked packages, with the hashes of their files and what needs them.

    `what` is the part of tacit that they are for, such as `node`.
    """
    own = Component(
        name="tacit",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=f"tacit-{what}",
        purl=PackageURL("pypi", name="tacit", version=version),
        licenses=[LicenseExpression("Apache-2.0")],
        properties=[Extra(name="tacit:part", value=what)],
    )
    bom = Bom(serial_number=uuid5(NAMESPACE_URL, f"tacit {version} {what} {packages!r}"))
    bom.metadata.component = own
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    made = [(each, _component(each)) for each in packages]
    for _, component in made:
        bom.components.add(component)
    for parent in (own, *(component for _, component in made)):
        needs = [c for each, c in made if _name_of(parent, own) in map(_plain, each.via)]
        bom.register_dependency(parent, needs)
    text = JsonV1Dot6(bom).output_as_string(indent=2)
    # Here, since it compiles dozens of grammars when it is imported, which takes seconds.
    from cyclonedx.validation.json import JsonStrictValidator

    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong is not None:
        raise ValueError(f"this is not CycloneDX: {wrong}")
    return json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def _component(locked: Locked) -> Component:
    purl = PackageURL("pypi", name=locked.name, version=locked.version)
    # All files of this version, for any system; a purl names them without naming a registry.
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(purl.to_string()),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in locked.hashes],
    )
    where = [] if locked.marker is None else [Extra(name="tacit:where", value=locked.marker)]
    return Component(
        name=locked.name,
        version=locked.version,
        type=ComponentType.LIBRARY,
        bom_ref=purl.to_string(),
        purl=purl,
        external_references=[files],
        properties=where,
    )


def _name_of(component: Component, own: Component) -> str:
    return "tacit" if component is own else component.name


def _plain(via: str) -> str:
    """The name in a lock's `via` line: `tacit (pyproject.toml)` is ours."""
    return via.split()[0]
