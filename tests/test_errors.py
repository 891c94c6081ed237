"""One tree of errors, one line each, and the exit code that goes with it."""

from __future__ import annotations

import inspect

import pytest

from tacit import errors
from tacit.errors import FileError, InputError, TacitError

EVERY = [
    member
    for _, member in inspect.getmembers(errors, inspect.isclass)
    if issubclass(member, Exception)
]


@pytest.mark.parametrize("error", EVERY)
def test_every_error_is_in_the_tree_and_drawn_on_top_of_it(error: type[Exception]) -> None:
    assert issubclass(error, TacitError)
    assert errors.__doc__ is not None
    assert error.__name__ in errors.__doc__


def test_input_errors_end_with_2_and_others_with_1() -> None:
    assert TacitError.exit_code == 1
    assert {e.exit_code for e in EVERY if issubclass(e, InputError)} == {2}


def test_a_file_error_names_file_place_trouble_and_remedy() -> None:
    error = FileError("w.csv", "row 3", "has 2 cells", "fill it up")
    assert (error.path, error.place) == ("w.csv", "row 3")
    assert (error.what, error.remedy) == ("has 2 cells", "fill it up")
    assert str(error) == "w.csv, row 3: has 2 cells; fill it up"
    assert str(FileError("w.csv", None, "is empty", "fill it")) == "w.csv: is empty; fill it"
