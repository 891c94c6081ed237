"""Sealing keys at one node: offered for one nonce, used once, and gone at the end."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tacit.agreement.terms import agreement_hash
from tacit.errors import RefusedError
from tacit.identity.config import load_node_config
from tacit.identity.keys import load_keys
from tacit.node.keys import PENDING_SECONDS, SEALING_KEYS, StoredSealingKey
from tacit.node.server import Node
from tacit.records.events import AgreementEnded
from tacit.records.log import verify_log
from tests.node.one_node import agree, node, platform_of


def key_files(folder: Path) -> list[Path]:
    return list((folder / "node-0.data" / SEALING_KEYS).iterdir())


def offer(made: Node, folder: Path, nonce: str) -> str:
    signing = load_keys(folder / "node-0.key").signing_public
    platform = platform_of(folder)
    return made.offer_sealing_key(nonce, platform, platform, signing_key=signing)[0]


def test_a_key_is_offered_for_one_nonce_and_survives_a_restart(folder: Path) -> None:
    made, nonce = node(folder), secrets.token_hex(16)
    key = offer(made, folder, nonce)
    assert offer(made, folder, nonce) == offer(node(folder), folder, nonce) == key
    assert offer(made, folder, secrets.token_hex(16)) != key
    with pytest.raises(RefusedError, match="this signing key is not ours"):
        made.offer_sealing_key(
            nonce, platform_of(folder), platform_of(folder), signing_key="a" * 64
        )
    with pytest.raises(RefusedError, match="another platform"):
        made.offer_sealing_key(nonce, "b" * 64, platform_of(folder), signing_key="a" * 64)


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


def test_so_many_keys_wait_for_so_long(folder: Path) -> None:
    config = replace(load_node_config(folder / "node-0.toml"), most_agreements=2)
    made = Node(config)
    waiting = [secrets.token_hex(16) for _ in range(2)]
    for nonce in waiting:
        offer(made, folder, nonce)
    with pytest.raises(RefusedError, match="2 keys are waiting for agreements of this platform"):
        offer(Node(config), folder, secrets.token_hex(16))
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
        state = each.agreement_state(agreement_hash(agreement), platform)
        log = verify_log((state.store.folder / "log.jsonl").read_bytes())
        assert [e.why for e in log if isinstance(e, AgreementEnded)] == ["it has expired"]
        with pytest.raises(RefusedError, match="the agreement has ended"):
            state.check_not_ended()


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
    with pytest.raises(RefusedError, match="nothing is kept of it"):
        again.agreement_state(state.hash, platform).store.save_state("sealed-0-2", b"shares")


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
