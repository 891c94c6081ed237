"""The table of all mutations in docs/protocols/mutants.md, from the list and what tests said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from tests.mutants.mutation import ROOT, Mutation
from tests.mutants.run import Result

PAGE = ROOT / "docs" / "protocols" / "mutants.md"
UNKNOWN = "not tried yet"
INTRODUCTION = """\
# Mutants

Small changes of the sources, each a breach or a wrong result, and the test that notices it.
`make mutants` makes each in a temporary copy of the sources and runs the tests that concern it,
then those of its room. It ends with an error if one survives, and writes this page. The lists are
in `tests/mutants/lists`, one per room; a change that removes a mutation's text must bring its list
up to date. Where tests can notice nothing, the reason stands in place of a test.

"""
_ROW = re.compile(r"^\| `([^`]+)` \|.*\| (.+) \|$", re.MULTILINE)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def outcomes(page: Path = PAGE) -> dict[str, str]:
    """What the page says of each mutation, by its name."""
    return dict(_ROW.findall(page.read_text())) if page.exists() else {}


def outcome_of(result: Result) -> str:
    """The last cell of a line."""
    if result.outcome == "killed":
        return f"`{result.by.partition('[')[0]}`"
    return _cell(f"{result.outcome}: {result.by}" if result.by else result.outcome)


def page(listed: Iterable[Mutation], said: Mapping[str, str]) -> str:
    """The page, with a table for each file."""
    text = INTRODUCTION
    by_file = sorted(listed, key=lambda mutation: mutation.edits[0].file)
    for file, group in groupby(by_file, key=lambda mutation: mutation.edits[0].file):
        text += f"## {file}\n\n| mutation | what it would be | killed by |\n| --- | --- | --- |\n"
        for each in group:
            outcome = said.get(each.name, UNKNOWN)
            text += f"| `{each.name}` | {_cell(each.why)} | {outcome} |\n"
        text += "\n"
    return text.rstrip() + "\n"
