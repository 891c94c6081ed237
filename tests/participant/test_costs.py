"""The same rows, whatever the order in which a desk has them."""

from __future__ import annotations

import tempfile
import unicodedata
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tacit.agreement.terms import Agreement, Ownership
from tacit.participant.costs import read_costs
from tacit.problems.files.decimals import unscaled_text
from tests.on_nodes.fixtures import example_cast

COLUMNS = [f"slot {i}" for i in range(4)]
WEIGHTS = st.lists(
    st.lists(st.integers(0, 500), min_size=4, max_size=4), min_size=3, max_size=3
).map(np.array)


def agreed() -> Agreement:
    agreement = example_cast().agreement
    terms = replace(agreement.objectives[0], scale=10, weight_bound=500)
    problem = replace(
        agreement.problem,
        rows=5,
        columns=4,
        row_names=["AB1", "AB2", "CD1", "CD2", "CD3"],
        column_names=COLUMNS,
    )
    owners = [Ownership("owner", [4, 0, 2]), Ownership("other", [1, 3])]
    return replace(agreement, problem=problem, objectives=[replace(terms, owners=owners)])


@given(
    weights=WEIGHTS,
    order=st.permutations(range(3)),
    columns=st.permutations(range(4)),
    by_number=st.booleans(),
    delimiter=st.sampled_from(",;\t"),
)
def test_rows_and_columns_find_their_places(
    weights: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    order: list[int],
    columns: list[int],
    by_number: bool,
    delimiter: str,
) -> None:
    agreement = agreed()
    rows, names = [4, 0, 2], agreement.problem.row_names
    assert names is not None
    table = [["flight", *(COLUMNS[c] for c in columns)]]
    for line in order:
        name = str(rows[line]) if by_number else names[rows[line]]
        table.append([name, *(unscaled_text(int(weights[line, c]), 10) for c in columns)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "costs.csv"
        path.write_text("\n".join(delimiter.join(line) for line in table))
        found = read_costs(path, agreement, "owner", 0)
    assert np.array_equal(found, weights)


def test_names_fit_however_their_accents_are_written(tmp_path: Path) -> None:
    agreement = agreed()
    problem = agreement.problem
    rows, columns = [f"c\u00e9leste {i}" for i in range(problem.rows)], list("\u00e4\u00f6\u00fce")
    named = replace(problem, row_names=rows, column_names=columns)
    table = [["", *columns], *([rows[row], "1", "2", "3", "4"] for row in (4, 0, 2))]
    text = "\n".join(",".join(line) for line in table)
    path = tmp_path / "costs.csv"
    path.write_text(unicodedata.normalize("NFD", text), encoding="utf-8")
    found = read_costs(path, replace(agreement, problem=named), "owner", 0)
    assert found.tolist() == [[10, 20, 30, 40]] * 3
