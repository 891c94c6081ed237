"""However the network cuts the bytes, the same frames come out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import FrameError
from tacit.mpc.transport.frame import (
    HEADER_BYTES,
    STAGED_BYTES,
    Channel,
    Frame,
    FrameReader,
    Header,
    encode,
)

LIMIT = 3 * STAGED_BYTES
SIZES = st.one_of(
    st.integers(0, 200),
    st.sampled_from(
        [STAGED_BYTES - HEADER_BYTES, STAGED_BYTES - 1, STAGED_BYTES, STAGED_BYTES + 1, LIMIT]
    ),
)


def sent(sizes: list[int]) -> tuple[list[Header], bytes]:
    headers = [
        Header(Channel(bytes(16)), bytes(8), depth=1, sequence=k, length=size)
        for k, size in enumerate(sizes)
    ]
    return headers, b"".join(
        encode(header) + bytes([header.sequence % 251 + 1]) * header.length for header in headers
    )


def cut(reader: FrameReader) -> list[Frame]:
    found: list[Frame] = []
    while True:
        reader.begin("node 1")
        frame = reader.frame()
        if frame is None:
            return found
        found.append(frame)


@given(st.lists(SIZES, max_size=8), st.lists(st.integers(1, 2 * STAGED_BYTES), min_size=1))
def test_frames_do_not_depend_on_how_their_bytes_arrive(
    sizes: list[int], pieces: list[int]
) -> None:
    headers, stream = sent(sizes)
    reader, frames, at, turn = FrameReader(limit=LIMIT), [], 0, 0
    while at < len(stream):
        room = reader.room()
        count = min(len(room), pieces[turn % len(pieces)], len(stream) - at)
        assert count
        room[:count] = stream[at : at + count]
        reader.took(count)
        at, turn = at + count, turn + 1
        frames += cut(reader)
        whole = sum(HEADER_BYTES + len(bytes(frame.payload)) for frame in frames)
        assert reader.is_inside is (whole < at)
    assert [frame.header for frame in frames] == headers
    for header, frame in zip(headers, frames, strict=True):
        assert bytes(frame.payload) == bytes([header.sequence % 251 + 1]) * header.length


def test_a_large_payload_is_read_in_place_and_a_small_one_with_what_follows() -> None:
    _, stream = sent([LIMIT])
    reader = FrameReader(limit=LIMIT)
    reader.room()[:HEADER_BYTES] = stream[:HEADER_BYTES]
    reader.took(HEADER_BYTES)
    body = reader.begin("node 1")
    assert body is not None
    reader.room()[:2] = b"ab"
    assert bytes(body[:2]) == b"ab"

    _, small = sent([3, 4])
    reader = FrameReader(limit=LIMIT)
    reader.room()[: len(small)] = small
    reader.took(len(small))
    assert [frame.header.length for frame in cut(reader)] == [3, 4]


def test_what_is_no_frame_is_refused_with_its_header() -> None:
    reader = FrameReader(limit=10)
    reader.room()[:HEADER_BYTES] = sent([11])[1][:HEADER_BYTES]
    reader.took(HEADER_BYTES)
    with pytest.raises(FrameError, match="announced a frame of 11 bytes; the limit is 10"):
        reader.begin("node 1")
