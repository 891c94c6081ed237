"""Sealing keys at one node: offered for one nonce, used once, and gone at the end."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tacit.agreement.terms import agreement_hash
from tacit.errors import LogError, RefusedError
from tacit.identity.config import load_node_config
from tacit.identity.keys import load_keys
from tacit.node.agreement_state import AgreementState
from tacit.node.keys import PENDING_SECONDS, SEALING_KEYS, StoredSealingKey
from tacit.node.server import Node
from tacit.node.store import folder_name
from tacit.records.events import AgreementEnded, RequestRefused
from tacit.records.log import verify_log
from tacit.records.messages import OfferSealingKey, RefusalKind
from tests.node.one_node import agree, drafted, node, platform_of


def key_files(folder: Path) -> list[Path]:
    return list((folder / "node-0.data" / SEALING_KEYS).iterdir())


def offer(made: Node, folder: Path, nonce: str, **differs: Any) -> str:
    platform = platform_of(folder)
    asked = OfferSealingKey(
        nonce=nonce,
        platform=platform,
        signing_key=load_keys(folder / "node-0.key").signing_public,
    )
    return made.offer_sealing_key(replace(asked, **differs), platform)[0]


def test_a_key_is_offered_for_one_nonce_and_survives_a_restart(folder: Path) -> None:
    made, nonce = node(folder), secrets.token_hex(16)
    key = offer(made, folder, nonce)
    assert offer(made, folder, nonce) == offer(node(folder), folder, nonce) == key
    assert offer(made, folder, secrets.token_hex(16)) != key
    with pytest.raises(RefusedError, match="this signing key is not ours"):
        offer(made, folder, nonce, signing_key="a" * 64)
    with pytest.raises(RefusedError, match="another platform"):
        offer(made, folder, nonce, platform="b" * 64)


def test_a_key_is_used_by_one_agreement(folder: Path) -> None:
    made = node(folder)
    agreement, _, platform = agree(made, folder)
    other = replace(agreement, reveal_best=not agreement.reveal_best)
    for each in (made, node(folder)):
        with pytest.raises(RefusedError, match="did not offer for it, or that is used up"):
            asyncio.run(each.take_agreement(other, {}, platform))
        with pytest.raises(RefusedError, match="is here already"):
            offer(each, folder, agreement.nonce)


def test_a_key_that_was_offered_for_another_agreement_is_refused(folder: Path) -> None:
    made = node(folder)
    agreement, _, platform = agree(made, folder)
    elsewhere = offer(made, folder, secrets.token_hex(16))
    nodes = [replace(agreement.nodes[0], sealing_key=elsewhere), *agreement.nodes[1:]]
    forged = replace(agreement, nodes=nodes, nonce=secrets.token_hex(16))
    offer(made, folder, forged.nonce)
    with pytest.raises(RefusedError, match="a sealing key that we did not offer for it"):
        asyncio.run(made.take_agreement(forged, {}, platform))


def test_an_agreement_that_names_another_key_of_this_node_is_refused(folder: Path) -> None:
    made = node(folder)
    agreement, _, platform = drafted(made, folder)
    other = load_keys(folder / "node-1.key").signing_public
    nodes = [replace(agreement.nodes[0], signing_key=other), *agreement.nodes[1:]]
    with pytest.raises(RefusedError, match="another signing key than we have"):
        asyncio.run(made.take_agreement(replace(agreement, nodes=nodes), {}, platform))


def test_a_key_is_given_back_by_the_platform_that_asked_for_it(folder: Path) -> None:
    made, nonce = node(folder), secrets.token_hex(16)
    offer(made, folder, nonce)
    made.own_keys.sealing.give_back(nonce, lambda platform: platform == "ab" * 32)
    assert len(key_files(folder)) == 1
    made.own_keys.sealing.give_back(nonce, lambda platform: platform == platform_of(folder))
    assert key_files(folder) == []


def test_so_many_keys_wait_for_so_long(folder: Path) -> None:
    config = replace(load_node_config(folder / "node-0.toml"), most_agreements=2)
    made = Node(config)
    waiting = [secrets.token_hex(16) for _ in range(2)]
    for nonce in waiting:
        offer(made, folder, nonce)
    with pytest.raises(RefusedError) as refused:
        offer(Node(config), folder, secrets.token_hex(16))
    assert refused.value.kind == RefusalKind.FULL
    made.own_keys.sealing.lapse(time.time() + PENDING_SECONDS - 60)
    assert len(key_files(folder)) == 2
    made.own_keys.sealing.lapse(time.time() + PENDING_SECONDS)
    assert key_files(folder) == []
    offer(made, folder, waiting[0])


def test_what_expires_ends_and_a_clock_set_back_brings_nothing_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = node(folder)
    agreement, _, platform = agree(made, folder)
    made.tidy()
    assert len(key_files(folder)) == 1
    with monkeypatch.context() as later:
        later.setattr("time.time", lambda: float(agreement.limits.expires))
        made.tidy()
    assert key_files(folder) == []
    for each in (made, node(folder)):
        with pytest.raises(RefusedError, match="the agreement has ended"):
            each.agreement_state(agreement_hash(agreement), platform)
        state = asyncio.run(each.ended_state(agreement_hash(agreement), platform))
        assert state is not None
        log = verify_log(state.store.log.path.read_bytes())
        assert [e.why for e in log if isinstance(e, AgreementEnded)] == ["it has expired"]


def test_a_crash_between_the_end_and_the_deletion_leaves_nothing_after_a_start(
    folder: Path,
) -> None:
    made = node(folder)
    agreement, _, platform = agree(made, folder)
    state = made.agreement_state(agreement_hash(agreement), platform)
    state.store.save_state("sealed-0-1", b"shares")
    assert b"shares" not in (state.store.folder / "sealed-0-1").read_bytes()
    state.end("as a test")  # and no more
    assert len(key_files(folder)) == 1
    again = node(folder)
    assert (again.broken, key_files(folder)) == (set(), [])
    assert not list(state.store.folder.glob("sealed-*"))
    ended = asyncio.run(again.ended_state(state.hash, platform))
    assert ended is not None
    with pytest.raises(RefusedError, match="nothing is kept of it"):
        ended.store.save_state("sealed-0-2", b"shares")


def test_a_crash_in_the_middle_of_an_erasure_does_not_stop_the_next_start(folder: Path) -> None:
    made = node(folder)
    offer(made, folder, secrets.token_hex(16))
    (path,) = key_files(folder)
    path.write_bytes(bytes(path.stat().st_size))
    again = node(folder)
    assert key_files(folder) == []
    agree(again, folder)


def test_a_node_whose_key_is_lost_says_so_and_goes_on(folder: Path) -> None:
    made = node(folder)
    agreement, _, platform = agree(made, folder)
    for path in key_files(folder):
        path.unlink()
    again = node(folder)
    with pytest.raises(RefusedError, match="is damaged"):
        again.agreement_state(agreement_hash(agreement), platform)
    agree(again, folder)


def test_after_the_end_no_file_has_a_secret_nor_had_one_that_is_left_on_the_disk(
    folder: Path, tmp_path: Path
) -> None:
    """Hard links show what is overwritten: a file that is only removed keeps its bytes there."""
    made = node(folder)
    agreement, _, platform = agree(made, folder)
    state = made.agreement_state(agreement_hash(agreement), platform)
    (key_file,) = key_files(folder)
    key = msgspec.msgpack.decode(key_file.read_bytes(), type=StoredSealingKey).secret
    shares = secrets.token_bytes(64)
    state.store.save_state("sealed-0-1", shares)
    data, links = folder / "node-0.data", tmp_path / "links"
    links.mkdir()
    for number, path in enumerate([each for each in data.rglob("*") if each.is_file()]):
        os.link(path, links / str(number))

    def having(secret: bytes) -> list[Path]:
        files = [each for place in (data, links) for each in place.rglob("*") if each.is_file()]
        return [each for each in files if secret in each.read_bytes()]

    assert (len(having(key)), having(shares)) == (2, [])
    made.end_agreement(state, "as a test")
    assert not having(key)
    assert not list(state.store.folder.glob("sealed-*"))


# Disks that are full, and errors in the middle.


def held(made: Node, folder: Path) -> tuple[AgreementState, str]:
    """An agreement that is under way, with sealed rows and a state."""
    agreement, _, platform = agree(made, folder)
    state = made.agreement_state(agreement_hash(agreement), platform)
    (state.store.folder / "inputs" / "0-0").write_bytes(bytes(50_000))
    state.store.save_state("sealed-0-1", bytes(1000))
    return state, platform


def is_erased(state: AgreementState, folder: Path) -> bool:
    left = [*state.store.folder.glob("inputs/*"), *state.store.folder.glob("sealed-*")]
    return not left and not any(any(path.read_bytes()) for path in key_files(folder))


def ends(folder: Path, state: AgreementState) -> int:
    log = verify_log((folder / "node-0.data" / folder_name(state.hash) / "log.jsonl").read_bytes())
    return sum(isinstance(event, AgreementEnded) for event in log)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own for a node's data, of a few hundred kilobytes."""
    data = tmp_path / "node-0.data"
    data.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(data)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk is mounted by root alone")
    try:
        yield data
    finally:
        subprocess.run(["umount", str(data)], check=True)


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    with pytest.raises(OSError, match="No space"):
        (disk / "more").write_bytes(b"x")
    (disk / "more").unlink()
    return filler


@pytest.mark.processes
def test_an_agreement_ends_on_a_disk_that_is_full(folder: Path, small_disk: Path) -> None:
    made = node(folder)
    state, platform = held(made, folder)
    # A line more than fits the last block of the log.
    size = state.store.log.size
    state.store.log.append(RequestRefused("evaluate", "x" * (2 * 4096 - size % 4096 - 200)))
    fill(small_disk)
    with pytest.raises(LogError):
        state.store.log.append(RequestRefused("evaluate", "x" * 4096))
    made.end_agreement(state, "as a test")
    assert is_erased(state, folder)
    assert ends(folder, state) == 1
    assert made.quota.room(platform).ended == 1
    assert node(folder).broken == set()


def test_a_disk_that_stays_full_lets_no_key_live(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before there is room for the line, the node knows by the zeros that it has ended."""
    made = node(folder)
    state, platform = held(made, folder)
    (key_file,) = key_files(folder)
    written = os.write

    def only_in_place(file: int, data: bytes) -> int:
        if os.path.realpath(f"/proc/self/fd/{file}") != str(key_file):
            raise OSError(errno.ENOSPC, "No space left on device")
        return written(file, data)

    with monkeypatch.context() as patch:
        patch.setattr("os.write", only_in_place)
        with pytest.raises(LogError):
            made.end_agreement(state, "as a test")
    assert made.untidy.is_set()
    assert is_erased(state, folder)
    with pytest.raises(RefusedError, match="has ended"):
        made.agreement_state(state.hash, platform)
    # The same node goes on with it, and so does the next one.
    again = node(folder)
    assert (again.broken, again.agreement_states, key_files(folder)) == (set(), {}, [])
    assert ends(folder, state) == 1
    assert again.quota.room(platform).ended == 1


def test_an_error_in_one_erasure_leaves_the_others_and_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = node(folder)
    states = [held(made, folder)[0] for _ in range(3)]
    expires = max(state.agreement.limits.expires for state in states)
    broken = states[1].store

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as later:
        later.setattr("time.time", lambda: float(expires))
        later.setattr(broken, "erase_states", fails)
        for _ in range(2):
            with pytest.raises(ExceptionGroup) as failed:
                made.tidy()
            (error,) = failed.value.exceptions
            assert isinstance(error, OSError)
            assert error.errno == errno.EIO
            assert {*made.agreement_states} == {states[1].hash}
        later.undo()
        later.setattr("time.time", lambda: float(expires))
        made.tidy()
    assert made.agreement_states == {}
    assert key_files(folder) == []
    assert [ends(folder, state) for state in states] == [1, 1, 1]
