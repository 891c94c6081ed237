import numpy as np
from hypothesis import given, settings, strategies as st

from tacit.mpc.planes import bits_to_plane, from_planes, plane_to_bits, plane_words, to_planes


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=200), st.integers(1, 64))
def test_planes_give_back_the_lowest_bits(values: list[int], bits: int) -> None:
    numbers = np.array(values, dtype=np.uint64)
    planes = to_planes(numbers, bits=bits)
    assert planes.shape == (bits, plane_words(len(values)))
    assert (from_planes(planes, len(values)) == numbers & np.uint64(2**bits - 1)).all()


@settings(deadline=None)
@given(st.lists(st.integers(0, 1), max_size=300), st.integers(1, 64))
def test_one_plane_there_and_back(values: list[int], bits: int) -> None:
    zeros_and_ones = np.array(values, dtype=np.uint8)
    plane = bits_to_plane(zeros_and_ones, bits=bits)
    assert (plane_to_bits(plane, len(values), bits=bits) == zeros_and_ones).all()
