"""Messages, the hashes that name requests, and what binds an attempt to its epoch."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import FrameError
from tacit.problems import generate_assignment
from tacit.records.messages import (
    EpochOpened,
    OpenEpoch,
    Ping,
    Prepare,
    context_of,
    decode_request,
    encode_message,
    reply_type,
)
from tacit.records.peer_messages import Here, decode_peer_message, encode_peer_message
from tacit.records.recording_mux import sent_digest
from tacit.records.requests import Attempt, candidate_hashes, decode_attempt, pack_candidates
from tacit.records.requests import unpack_candidates as unpack


def test_messages_come_back_as_they_were_sent() -> None:
    assert decode_request(encode_message(Ping(id=3)), peer="the platform") == Ping(id=3)
    here = Here(clock=1.5)
    assert decode_peer_message(encode_peer_message(here), peer="node 1") == here
    assert reply_type(OpenEpoch) is EpochOpened


def test_what_is_no_message_is_refused_with_the_name_of_its_sender() -> None:
    with pytest.raises(FrameError, match="the platform: sent"):
        decode_request(b"garbage", peer="the platform")
    with pytest.raises(FrameError, match="node 1: sent"):
        decode_peer_message(b"garbage", peer="node 1")
    with pytest.raises(ValueError, match="'seven' does not name an attempt"):
        decode_attempt(Attempt, "seven")


def test_candidates_come_back_as_they_were_packed() -> None:
    problem = generate_assignment(1, rows=2, columns=3)
    plans = np.array([[2, 0], [1, 2]])
    unpacked = unpack(problem, pack_candidates(problem, plans))
    assert unpacked is not None
    assert np.array_equal(unpacked, plans)
    assert unpack(problem, b"\x00\x01\x02") is None
    assert len(candidate_hashes(np.array([[0, 1], [1, 0], [0, 1]]))) == 2


def test_hashes_depend_on_the_salt_the_substream_and_where_a_frame_ends() -> None:
    sent = sent_digest(b"salt", [(1, [b"a", b"b"])])
    assert sent == sent_digest(b"salt", [(1, [b"a", b"b"])])
    for salt, number, frames in (
        (b"more", 1, [b"a", b"b"]),
        (b"salt", 1, [b"ab"]),
        (b"salt", 2, [b"a", b"b"]),
    ):
        assert sent_digest(salt, [(number, frames)]) != sent


def test_another_epoch_has_another_tag() -> None:
    one, two = (Prepare(agreement=bytes(32), objective=0, epoch=e, attempt=0) for e in (1, 2))
    assert context_of(one, b"prepare").tag != context_of(two, b"prepare").tag
