"""Whether a lock file fits pyproject.toml: nothing is missing, and no version is refused."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.locks import LOCKED, ROOT, Locked


def wanted(name: str, /, pyproject: Path = ROOT / "pyproject.toml") -> list[Requirement]:
    """What a lock file must have, directly: the requirements of its extra, or of its group."""
    table = tomllib.loads(pyproject.read_text())
    option, what = LOCKED[name]
    if option == "--group":
        return list(_of_group(table["dependency-groups"], what))
    project = table["project"]
    extras = project["optional-dependencies"]
    return [*map(Requirement, project["dependencies"]), *_of_extra(project["name"], extras, what)]


def _of_group(groups: dict[str, list[Any]], name: str) -> Iterator[Requirement]:
    for each in groups[name]:
        if isinstance(each, str):
            yield Requirement(each)
        else:
            yield from _of_group(groups, each["include-group"])


def _of_extra(own: str, extras: dict[str, list[str]], name: str) -> Iterator[Requirement]:
    for each in map(Requirement, extras[name]):
        if each.name != own:
            yield each
        for inner in each.extras if each.name == own else ():
            yield from _of_extra(own, extras, inner)


def misfits(packages: list[Locked], requirements: list[Requirement], /) -> list[str]:
    """Everything that is wrong; `make lock` mends it."""
    found = []
    names = {canonicalize_name(each.name) for each in packages}
    needed = {canonicalize_name(via.split()[0].split("[")[0]) for e in packages for via in e.via}
    for each in packages:
        if not each.hashes:
            found.append(f"{each.name} {each.version} has no hash")
        if not each.via:
            found.append(f"nothing needs {each.name}")
    for requirement in requirements:
        name = canonicalize_name(requirement.name)
        locked = [each for each in packages if canonicalize_name(each.name) == name]
        if not locked:
            found.append(f"{requirement.name} is not locked")
        for each in locked:
            if not requirement.specifier.contains(each.version, prereleases=True):
                found.append(f"{each.name} {each.version} does not satisfy {requirement}")
        if locked and requirement.extras and name not in needed:
            found.append(f"what {requirement} brings along is not locked")
    named = {canonicalize_name(each.name) for each in requirements}
    missing = needed - names - named - {"tacit"}
    found += [f"{name} is needed and not locked" for name in sorted(missing)]
    return found
