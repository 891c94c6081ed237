"""A problem from tables as spreadsheets save them; what is wrong names its cell."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError, TacitError
from tacit.problems import Objective, Problem
from tacit.service.dashboard.drafts import (
    KINDS_OF_TABLES,
    Tables,
    problem_of_tables,
    read_table,
    usual_terms,
)
from tacit.service.workflow.drafting import checked_terms

ROWS = "place;participant;demand\nhub;north;0\nF1;north;3\nF2;ce\u0301leste;2\n"
COLUMNS = "slot,capacity\n07:00,2\n07:10,2\n07:20,5\n"
MASK = "\t07:20\t07:00\nF2\tx\t0\nhub\t\t1\n"


def of_tables(kind: str, rows: str = ROWS, columns: str = COLUMNS, mask: str = MASK) -> Problem:
    tables = Tables(
        rows=read_table(rows.encode()),
        columns=read_table(columns.encode("utf-8-sig")) if columns else None,
        mask=read_table(mask.encode()) if mask else None,
        objectives=[Objective("cost", None, weight_bound=1000)],
    )
    return problem_of_tables("seven", kind, tables)


@pytest.mark.parametrize("kind", KINDS_OF_TABLES)
def test_tables_become_a_run(kind: str) -> None:
    problem = of_tables(kind)
    terms = checked_terms(usual_terms(problem))
    assert terms.participants == {"north": [0, 1], "c\u00e9leste": [2]}
    assert terms.problem.row_names == ["hub", "F1", "F2"]
    assert terms.problem.kind == kind


def test_the_mask_is_read_by_names_in_any_order() -> None:
    problem = of_tables("assignment")
    assert problem.forbidden is not None
    expected = np.zeros((3, 3), dtype=bool)
    expected[2, 2] = expected[0, 0] = True
    assert np.array_equal(problem.forbidden, expected)
    assert of_tables("assignment", columns="", mask="r,a,b,c\nF1,0,0,1\n").column_names == (
        "a",
        "b",
        "c",
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rows": "a,participant\nF1,n\nF1,n\n"}, "'F1' stands in A2 and A3"),
        ({"rows": "a,participant\nF1,\n"}, "line 2 has no owner; say whose F1 is"),
        ({"rows": "a\nF1\n"}, "no column of owners"),
        ({"rows": "a,b\nF1,n,x\n"}, "line 2 has 3 cells where line 1 has 2"),
        ({"rows": "a,participant\n,n\n"}, "cell A2 is empty"),
        ({"rows": "only"}, "at least one line below"),
        ({"rows": 'a,"b'}, "check quotes"),
        ({"mask": "r,07:00,07:40\nF1,0,0\n"}, "'07:40' in cell C1 is no column"),
        ({"mask": "r,07:00\nF9,0\n"}, "'F9' in cell A2 is no row"),
        ({"mask": "r,07:00\nF1,perhaps\n"}, "cell B2 is 'perhaps'; write 1 if F1 may not have"),
        ({"columns": "", "mask": ""}, "give the table of columns"),
        ({"mask": "r,07:00,07:00\nF1,0,0\n"}, "'07:00' in cell C1 is no column, or stands twice"),
        (
            {
                "columns": "c\n" + "".join(f"{i}\n" for i in range(19_000)),
                "rows": "r,participant\n" + "".join(f"{i},a\n" for i in range(300)),
            },
            "are too many",
        ),
    ],
)
def test_what_is_wrong_names_its_cell(change: dict[str, str], says: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(says)):
        of_tables("assignment", **change)


def test_capacities_are_whole_numbers() -> None:
    with pytest.raises(ParameterError, match="line 2: capacity is 'two'; give a whole number"):
        of_tables("capacitated", columns="slot,capacity\n07:00,two\n", mask="")
    with pytest.raises(ParameterError, match="save it as CSV UTF-8"):
        read_table("fl\u00fcg,b\n".encode("latin-1"))


@given(st.binary(max_size=200) | st.text('aF1;,\n\t"x', max_size=200).map(str.encode))
def test_no_file_breaks_anything(content: bytes) -> None:
    try:
        table = read_table(content)
        tables = Tables(table, table, table, [Objective("cost", None, weight_bound=1000)])
        problem_of_tables("any", "assignment", tables)
    except TacitError:
        pass
