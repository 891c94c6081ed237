import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.planes import plane_to_bits, plane_words, to_planes


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=200), st.integers(1, 64))
def test_planes_give_back_the_lowest_bits(values: list[int], bits: int) -> None:
    numbers = np.array(values, dtype=np.uint64)
    planes = to_planes(numbers, bits=bits)
    assert planes.shape == (bits, plane_words(len(values)))
    for k, plane in enumerate(planes):
        bit = (numbers >> np.uint64(k)) & np.uint64(1)
        assert (plane_to_bits(plane, len(values), bits=bits) == bit).all()
