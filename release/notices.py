"""Third-party notices of an installed environment, for whoever passes it on.

    PYTHON release/notices.py FILE    PYTHON is the interpreter of that environment

An image and an installed release consist of packages under licenses of their own. Their texts lie
beside them (`*.dist-info`). Some licenses ask for more: LGPL and MPL that users are told, that they
get the text, and that they learn where the source is. This writes all of it from what is installed,
so that no list can be out of date. It needs nothing but the standard library.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

TEXTS = Path(__file__).parent / "licenses"
"""LGPL 3 is to be passed on with GPL 3, which no package brings along."""
OWN = "tacit"
_ASKS = re.compile(r"\b(L?GPL|MPL|Mozilla|GNU)", re.IGNORECASE)
_LICENSE_FILE = re.compile(r"licen[cs]e|copying|notice|copyright", re.IGNORECASE)
BUNDLED = (
    (re.compile(r"libquadmath[-.]"), "LGPL-2.1-or-later (GCC)"),
    (re.compile(r"libgfortran[-.]"), "GPL-3.0-or-later WITH GCC-exception-3.1 (GCC)"),
    (re.compile(r"libkeyutils[-.]"), "LGPL-2.1-or-later (keyutils)"),
    (re.compile(r"libcrypt[-.]"), "LGPL-2.1-or-later (libxcrypt)"),
)
"""Shared libraries inside of packages whose own license says nothing of these."""
_HEAD = """\
THIRD-PARTY NOTICES

tacit is under the Apache License 2.0. Beside it are installed the packages below. They are the
work of others, unmodified, each under its own license. Paths are relative to {where}.
"""
_ASKING = """\
LIBRARIES UNDER THE LGPL OR MPL

tacit uses these libraries, and they are covered by the GNU Lesser General Public License or the
Mozilla Public License. They are packages of their own and not part of tacit: whoever has this
environment may replace each by another version, a modified one too, with the environment's own pip,
and may reverse engineer it to debug such changes. Each line says where the source is. The texts of
the licenses are named with each package, or stand at the end.
"""


class NoNoticeError(Exception):
    """A package may not be passed on like this."""


@dataclass(frozen=True)
class Package:
    """An installed package, as far as its license is concerned."""

    name: str
    version: str
    license: str
    source: str
    files: tuple[str, ...]
    """Where its license texts are."""
    bundled: tuple[str, ...]
    """Shared libraries in it, with their own licenses where these ask for a notice."""

    @property
    def asks(self) -> bool:
        """Whether users have to be told of it."""
        return bool(_ASKS.search(self.license))


def read_package(found: Distribution, /) -> Package:
    """Read what an installed package says of itself."""
    about = found.metadata
    files = [str(each) for each in found.files or ()]
    classified = [
        each.rpartition("::")[2].strip()
        for each in about.get_all("Classifier") or ()
        if each.startswith("License ::")
    ]

    def first(field: str) -> str:
        return str((about.get_all(field) or [""])[0]).strip()

    stated = first("License-Expression") or first("License")
    # Some packages have the whole text in this field.
    short = stated if 0 < len(stated) < 100 and "\n" not in stated else ""
    links = [each.partition(",") for each in about.get_all("Project-URL") or ()]
    by_label = {label.strip().lower(): url.strip() for label, _, url in links}
    labels = ("source", "source code", "repository", "code", "github", "homepage")
    source = next((by_label[each] for each in labels if each in by_label), first("Home-page"))
    package = f"https://pypi.org/project/{about['Name']}/{about['Version']}/#files"
    return Package(
        about["Name"],
        about["Version"],
        short or " / ".join(classified),
        f"{package} ({source})" if source else package,
        tuple(sorted(each for each in files if _is_license(each))),
        tuple(sorted(_bundled(files))),
    )


def _is_license(file: str) -> bool:
    folder, _, name = file.partition("/")
    return folder.endswith(".dist-info") and bool(_LICENSE_FILE.search(name))


def _bundled(files: list[str]) -> Iterator[str]:
    for each in files:
        folder, _, name = each.partition("/")
        if folder.endswith(".libs") and ".so" in name:
            terms = next((words for made, words in BUNDLED if made.match(name)), "")
            yield f"{each}: {terms}" if terms else each


def notices(packages: list[Package], /, *, where: str) -> str:
    """Write the notices of all packages; one that asks for more than there is here is refused.

    >>> psycopg = Package("psycopg", "3", "LGPL-3.0-only", "https://x", (), ())
    >>> notices([psycopg], where="/opt")
    Traceback (most recent call last):
    release.notices.NoNoticeError: psycopg 3 is under LGPL-3.0-only and has no text of its license
    """
    for each in packages:
        if not each.license and not each.files:
            raise NoNoticeError(f"{each.name} {each.version} names no license")
        if each.asks and not each.files:
            raise NoNoticeError(
                f"{each.name} {each.version} is under {each.license} and has no text of its license"
            )
    ordered = sorted(packages, key=lambda each: each.name.lower())
    parts = [_HEAD.format(where=where), _ASKING]
    parts += [_described(each) for each in ordered if each.asks]
    told = [line for each in ordered for line in each.bundled if ": " in line]
    if told:
        parts.append("Shared libraries inside of packages:\n" + _listed(told))
    parts.append("ALL PACKAGES\n")
    parts += [_described(each) for each in ordered]
    for text in sorted(TEXTS.glob("*.txt")):
        parts.append(f"TEXT OF {text.stem}\n\n{text.read_text()}")
    return "\n".join(parts)


def _described(package: Package) -> str:
    lines = [f"{package.name} {package.version}: {package.license or 'see its license text'}"]
    lines.append(f"  source: {package.source}")
    return "\n".join(lines) + "\n" + _listed([*package.files, *package.bundled])


def _listed(lines: list[str]) -> str:
    return "".join(f"  {each}\n" for each in lines)


def main(out: Path, /) -> None:
    """Write the notices of the environment whose interpreter this is."""
    found = {each.metadata["Name"].lower(): each for each in distributions()}
    packages = [read_package(each) for name, each in found.items() if name != OWN]
    where = str(next((each.locate_file("") for each in found.values()), ""))
    out.write_text(notices(packages, where=where))
    asking = ", ".join(f"{each.name} ({each.license})" for each in packages if each.asks)
    print(f"{out}: {len(packages)} packages; under LGPL or MPL: {asking or 'none'}")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except NoNoticeError as error:
        sys.exit(f"no notices: {error}")
