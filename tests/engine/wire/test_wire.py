"""Messages, the hashes that name requests, and what binds an attempt to its epoch."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs
from tacit.mpc.forest import cost_of_warm_start
from tacit.mpc.forest.layout import Layout

from tacit.engine.wire import request
from tacit.engine.wire.attempt import Attempt, decode_attempt
from tacit.engine.wire.messages import (
    Advance,
    OpenEpoch,
    Ping,
    Prepare,
    decode_request,
    encode_message,
    reply_type,
)
from tacit.engine.wire.peer_messages import Here, decode_peer_message, encode_peer_message
from tacit.engine.wire.recording_mux import sent_digest, substream_digest
from tacit.engine.wire.replies import EpochOpened
from tacit.engine.wire.request import (
    FINISH,
    advance_hash,
    candidate_hashes,
    context_of,
    pack_candidates,
)
from tacit.engine.wire.request import unpack_candidates as unpack
from tacit.errors import AbortError, FrameError
from tacit.mpc.transport.frame import Channel, Header
from tacit.mpc.transport.mux import check_frame
from tacit.problems import generate_assignment


def test_messages_come_back_as_they_were_sent() -> None:
    assert decode_request(encode_message(Ping(id=3)), peer="the platform") == Ping(id=3)
    assert decode_peer_message(encode_peer_message(Here()), peer="node 1") == Here()
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


def test_hashes_depend_on_the_salt_and_on_where_a_frame_ends() -> None:
    assert sent_digest(b"salt", [b"one"]) != sent_digest(b"more", [b"one"])
    assert substream_digest([b"a", b"b"]) != substream_digest([b"ab"])


def test_another_epoch_has_another_tag() -> None:
    one, two = (Prepare(agreement=bytes(32), objective=0, epoch=e, attempt=0) for e in (1, 2))
    assert context_of(one, b"prepare").tag != context_of(two, b"prepare").tag


def test_nodes_that_begin_a_finish_in_different_ways_refuse_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = Advance(
        agreement=bytes(32),
        search=0,
        first=3,
        count=1,
        horizon=9,
        epoch=1,
        attempt=0,
        parent_attempt=Attempt.of(3, 1, 0),
    )
    finishes = structs.replace(searched, turn=3)

    def tags() -> list[bytes]:
        return [context_of(each, advance_hash(each)).tag for each in (searched, finishes)]

    search, here = tags()
    monkeypatch.setattr(request, "FINISH", "finish/1")
    same, there = tags()
    assert search == same
    with pytest.raises(AbortError, match="give all the same version"):
        check_frame(Header(Channel(bytes(16)), there, 1, 1, 0), here, 1, peer="node 2")


def test_a_finish_with_other_steps_has_another_number() -> None:
    layout = Layout(rows=9, columns=tuple(range(9)), spread=9)
    rounds = cost_of_warm_start(3, layout, layout.shape()).rounds
    assert (FINISH, rounds) == ("finish/2", 926)
