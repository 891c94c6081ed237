"""The platform's view of the small recorded run, and the choice of attacks on it."""

from __future__ import annotations

import pytest

from tacit.audit.audit import audit_of
from tacit.audit.measure import cell_spread
from tacit.audit.node_attacks import CarriedOver, is_ranked
from tacit.audit.platform_attacks import has_groups, informative_pairs, main_attacks
from tacit.audit.truth_file import load_truth
from tacit.errors import InputError
from tests.audit.example import example_record, example_view, example_weights


def test_the_view_has_every_candidate_and_what_was_told_of_it() -> None:
    view = example_view("top:5")
    assert (view.evaluations, view.cells.shape, int(view.levels.max())) == (30, (900, 6), 1)
    assert round(cell_spread(example_view("none")), 1) == 288.7


def test_the_main_attacks_depend_on_what_is_disclosed() -> None:
    assert list(main_attacks(example_view("order"))) == ["pairwise"]
    assert list(main_attacks(example_view("top:5"))) == ["pairwise", "pointwise", "anchor"]
    assert (
        audit_of(example_record("order"), example_weights()).honest()["pairwise"].correlation > 0.9
    )


def test_what_the_disclosure_tells() -> None:
    assert has_groups(example_view("quantiles:5"))
    assert not has_groups(example_view("none"))
    assert is_ranked(example_view("order"))
    assert not is_ranked(example_view("top:3"))
    assert CarriedOver.of(example_view("top:2")) == CarriedOver(27, 27, 3, ranked=False, complete=2)


def test_pairs_are_of_one_evaluation() -> None:
    better, worse = informative_pairs(example_view("order"))
    assert (better // 30 == worse // 30).all()


def test_the_truth_of_another_run_is_refused() -> None:
    with pytest.raises(
        InputError, match="kroD100 has a 100 x 100 matrix and the record is of 6 x 6"
    ):
        load_truth("kroD100", example_record("order"))
