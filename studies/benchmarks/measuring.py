"""Helpers of all benchmarks: their options, the families of costs, and files of figures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, get_args

import msgspec

from tacit.problems import Drawn, Problem, generate_named

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "figures"
"""What `make figures` writes; tables of documents are held to these files."""
NOT_FAMILIES = ("moap", "tour", "capacitated", "routing")
FAMILIES = tuple(name for name in get_args(Drawn) if name not in NOT_FAMILIES)
"""The families of costs that sealed assignments are measured on."""
WIDE = ("delays", "slots")
"""Families with half as many columns again as rows."""

Content = TypeVar("Content")


def problem_of(family: str, rows: int, seed: int, /) -> Problem:
    """Draw a problem.

    >>> problem_of("slots", 10, 1).columns
    15
    """
    columns = rows + rows // 2 if family in WIDE else rows
    return generate_named(family, seed, rows=rows, columns=columns)


def options_of(
    file: str,
    about: str | None,
    /,
    *,
    only: Sequence[str] = (),
    rows: Sequence[int] = (),
    seeds: int | None = None,
    nodes: int | None = None,
    latency: bool = False,
    resume: bool = False,
) -> argparse.ArgumentParser:
    """The parser of a benchmark: `--json FILE`, and what it has of the options that many have."""
    parser = argparse.ArgumentParser(
        prog=f"python -m studies.benchmarks.{Path(file).stem}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--json", type=Path, metavar="FILE", help="write the figures to this file, too")
    if resume:
        add("--resume", action="store_true", help="go on with what the file has")
    if only:
        add("--only", nargs="*", choices=only, default=list(only))
    if rows:
        add("--rows", nargs="*", type=int, default=list(rows))
    if seeds is not None:
        add("--seeds", type=int, default=seeds, help="how many problems of each")
    if nodes is not None:
        add("--nodes", type=int, default=nodes, choices=(3, 4))
    if latency:
        add("--latency", type=float, default=0.0, help="one-way, in ms")
    return parser


def write_json(path: Path | None, content: object, /) -> None:
    """Write the content, if there is a path."""
    if path is not None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")


def read_json(path: Path, kind: type[Content], /) -> Content:
    """Read what `write_json` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=kind)
