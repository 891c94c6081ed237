"""A mistake at the command line gets one sentence that says what to do."""

from __future__ import annotations

import pytest

from tests.conftest import RunTacit


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("slove", "there is no command slove; did you mean solve? See tacit --help"),
        ("solve a --dedline 3s", "there is no option --dedline; did you mean --deadline? See"),
        ("solve a --seed x", "'--seed': give a whole number; see tacit solve --help"),
        ("solve a --local-nodes 7", "'--local-nodes': give at most 4; see"),
        ("bench engine --population 0", "'--population': give at least 1; see"),
        (
            "keys rotate a.toml now",
            "'step': 'now' is not one of 'prepare', 'switch', 'finish'; see",
        ),
        ("run list extra", "leave out what is too much: extra; see tacit run list --help"),
        ("run new --like", "give a value after --like; see"),
        ("cluster join", "give FOLDER: your folder, of node init or cluster init; see"),
        ("cluster join desk", "give FILES: the public halves of all others; see"),
        ("node run", "give --config: the node's file, made by"),
    ],
)
def test_a_wrong_command_line_is_told_what_to_do(run_here: RunTacit, words: str, said: str) -> None:
    done = run_here(*words.split())
    assert done.returncode == 2
    assert not done.stdout
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
