""""""

from __future__ import annotations

import pytest

from tacit.errors import DisclosureError, ParameterError
from tacit.mpc.disclose.spec import (
    FitnessBound,
    Spec,
    bits_needed,
    check_bound_fits,
    key_bits,
    threshold_bits,
)


def test_widths_are_those_of_the_design() -> None:
    bound = FitnessBound(0, 2**18 - 1)
    assert bound.bits == 18
    assert key_bits(bound, 300) == 18 + 9 + 1
    assert threshold_bits(bound, 100) <= 18 + 8
    assert threshold_bits(bound, 5) <= 18 + 3 + 1
    assert bits_needed(bound, 2, Spec.parse("above:5")) == threshold_bits(bound, 100)


@pytest.mark.parametrize("text", ["order", "top:3", "quantiles:2", "above:95", "buckets:9"])
def test_the_widest_bound_that_fits(text: str) -> None:
    spec = Spec.parse(text)
    fits = [b for b in range(1, 63) if bits_needed(FitnessBound(0, 2**b - 1), 300, spec) <= 64]
    widest = max(fits)
    check_bound_fits(FitnessBound(-(2**widest - 1), 0), 300, spec)
    with pytest.raises(ParameterError, match="the ring has 64; scale the weights down"):
        check_bound_fits(FitnessBound(0, 2 ** (widest + 1) - 1), 300, spec)


def test_bounds_that_are_none() -> None:
    with pytest.raises(ParameterError, match="is empty"):
        FitnessBound(1, 0)
    with pytest.raises(ParameterError, match="leaves the 64-bit ring"):
        FitnessBound(0, 2**63)
    assert FitnessBound.of_sum(3, 10) == FitnessBound(0, 30)
    check_bound_fits(FitnessBound(-(2**63), 2**63 - 1), 300, Spec.parse("none"))


@pytest.mark.parametrize("text", ["", "order:3", "top", "top:", "top:x", "above:-1", "best:3"])
def test_text_that_is_no_disclosure(text: str) -> None:
    with pytest.raises(DisclosureError, match="is not a disclosure"):
        Spec.parse(text)


@pytest.mark.parametrize("text", ["top:0", "top:6", "quantiles:6", "buckets:0", "above:101"])
def test_numbers_that_do_not_fit_five_individuals(text: str) -> None:
    with pytest.raises(DisclosureError, match="does not fit 5 individuals"):
        Spec.parse(text).check(5)


def test_an_empty_population_is_refused() -> None:
    with pytest.raises(DisclosureError, match="at least 1"):
        Spec.parse("order").check(0)
