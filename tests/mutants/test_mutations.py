"""The lists of mutations stay true: each still applies, and the page tells of each."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.mutation import (
    LISTS,
    ROOT,
    SOURCES,
    Edit,
    Mutation,
    MutationError,
    mutations,
)
from tests.mutants.page import PAGE, outcomes, page
from tests.mutants.run import copied_tree, try_mutation

LISTED = mutations()


def test_names_are_names() -> None:
    counts = Counter(each.name for each in LISTED)
    assert [name for name, count in counts.items() if count > 1] == []


def test_each_stands_in_the_list_of_its_room() -> None:
    for path in LISTS.iterdir():
        assert {each.room for each in mutations(path)} == {path.stem}


@cache
def code_of(path: Path) -> str:
    return ast.dump(ast.parse((ROOT / path).read_text()))


@pytest.mark.parametrize("mutation", LISTED, ids=lambda each: each.name)
def test_a_mutation_applies_compiles_and_changes_the_code(mutation: Mutation) -> None:
    for path, text in mutation.changed(ROOT).items():
        assert ast.dump(ast.parse(text)) != code_of(path)


def test_the_tests_of_mutations_exist() -> None:
    for each in LISTED:
        for test in each.tests:
            path, _, name = test.partition("::")
            assert (ROOT / path).is_file(), test
            function = name.partition("[")[0]
            assert path.startswith("src/") or f"def {function}" in (ROOT / path).read_text(), test


def test_the_page_tells_of_each_that_it_is_noticed() -> None:
    said = outcomes()
    assert PAGE.read_text() == page(LISTED, said)
    for each in LISTED:
        killed = said[each.name].startswith(("`tests/", f"`{SOURCES}/"))
        assert killed != bool(each.equivalent), each.name
        assert killed or each.equivalent in said[each.name]


def test_a_text_that_is_gone_or_there_twice_is_an_error() -> None:
    for text in ("nothing", "same same"):
        with pytest.raises(MutationError, match="and not once"):
            Edit("shares.py", "same", "other").apply(text)


@pytest.mark.processes
def test_killed_survived_and_broken_are_told_apart() -> None:
    count = "return -(-count // 64)"
    tests = ("tests/mpc/test_planes.py",)

    def tried(new: str) -> tuple[str, str]:
        made = Mutation("tried", (Edit("mpc/planes.py", count, new),), "", tests)
        with copied_tree() as copy:
            result = try_mutation(made, copy, quick=True)
        return result.outcome, result.by.partition("::")[0]

    assert tried("return count // 64") == ("killed", tests[0])
    assert tried("return (count + 63) // 64")[0] == "survived"
    assert tried(f"{count}\n\n\nimport nothing_of_that_name")[0] == "broken"
