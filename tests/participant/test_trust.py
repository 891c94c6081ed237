"""Keys from another channel than the platform: without them nothing is signed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tacit.cli.keys import app as keys_app
from tacit.errors import TrustError
from tacit.identity.keys import Keys, key_fingerprint
from tacit.participant import (
    Trust,
    load_trust,
    participant_entry,
    review,
    save_trust,
    seen_trust,
    sign,
    trust_text,
)
from tacit.participant.trust import TrustedNode, TrustedParticipant
from tacit.plain_text import plain_line
from tests.participant.conftest import World
from tests.participant.platform import RUN
from tests.participant.test_reviewing import other_signing_key
from tests.support.command_line import Tacit

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
KEYS = st.text("0123456789abcdef", min_size=64, max_size=64)
TRUSTS = st.builds(
    Trust,
    st.lists(st.builds(TrustedNode, TEXT, KEYS, st.none() | KEYS), max_size=3),
    st.lists(st.builds(TrustedParticipant, TEXT, KEYS), max_size=3),
)


@given(trust=TRUSTS, note=TEXT)
def test_whatever_is_written_is_read_again(trust: Trust, note: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys.toml"
        save_trust(trust, path, note=plain_line(note))
        assert load_trust(path) == trust


@given(text=st.text())
def test_a_line_stays_a_line(text: str) -> None:
    shown = plain_line(text)
    assert len(f"{shown}.".splitlines()) == 1
    assert shown.isprintable()


def test_keys_that_are_the_platforms_word_are_not_signed(unpinned: World, tacit: Tacit) -> None:
    north = ("--profile", unpinned.north.folder)
    told = json.loads(tacit("review", RUN, "--json", *north).out)
    assert (told["pinned"], told["may_sign"]) == (False, False)
    for command in (("review", RUN), ("sign", RUN, "--yes")):
        said = tacit(*command, *north)
        assert said.code == 3
        assert said.err.count("\n") == 1
        assert "nobody but the platform says whose keys these are" in said.err
        for remedy in ("tacit participant keys show --toml", "by phone", "--trust", "--unpinned"):
            assert remedy in said.err
    with pytest.raises(TrustError, match="nobody but the platform"):
        sign(unpinned.north, RUN)
    assert unpinned.north.signed_agreement(RUN) is None
    assert "north" not in unpinned.platform.stored.signatures
    said = tacit("sign", RUN, "--yes", "--unpinned", "--json", *north)
    assert said.code == 0
    assert json.loads(said.out)["pinned"] is False
    assert "north" in unpinned.platform.stored.signatures
    assert "believe" in tacit("review", RUN, "--unpinned", *north).out
    assert tacit("review", RUN, "--unpinned", "--trust", "keys.toml", *north).code == 2


def test_what_is_pinned_counts_whatever_is_said(world: World, tacit: Tacit) -> None:
    world.platform.tamper["agreement"] = other_signing_key
    said = tacit("review", RUN, "--unpinned", "--profile", world.north.folder)
    assert said.code == 3
    assert "has another signing key than the trusted one" in said.err


def test_keys_are_exchanged_as_files_past_the_platform(
    unpinned: World, tacit: Tacit, tmp_path: Path
) -> None:
    nodes = unpinned.platform.cluster
    files = []
    for number, node in enumerate(nodes.config.nodes):
        shown = CliRunner().invoke(
            keys_app,
            ["show", str(nodes.folder / f"node-{number}.key"), "--address", node.address],
        )
        files.append(tmp_path / f"node-{number}.toml")
        files[-1].write_text(shown.output)
    for name in ("south", "west"):
        files.append(tmp_path / f"{name}.toml")
        files[-1].write_text(tacit("keys", "show", "--toml", "--profile", tmp_path / name).out)
    north = ("--profile", unpinned.north.folder)
    assert "nothing is pinned yet" in tacit("trust", *north).err
    pinned = tacit("trust", *files, *north)
    agreement = unpinned.platform.agreement
    keys = [node.signing_key for node in agreement.nodes]
    for key in (*keys, *(each.signing_key for each in agreement.participants[1:])):
        assert key_fingerprint(key) in pinned.out
    assert json.loads(tacit("review", RUN, "--json", *north).out)["may_sign"]
    said = tacit("sign", RUN, "--yes", "--json", *north)
    assert json.loads(said.out)["pinned"] is True
    # Another key for somebody who is pinned takes a word of one's own.
    files[-1].write_text(trust_text(participant_entry("west", Keys.new("x"))))
    said = tacit("trust", files[-1], *north)
    assert said.code == 3
    assert "two different keys for participant 'west'" in said.err
    assert load_trust(unpinned.north.trust_file).participant[1].name == "west"
    assert tacit("trust", files[-1], "--replace", *north).code == 0
    assert tacit("review", RUN, *north).code == 3


def test_keys_are_written_for_comparison_and_read_again(world: World, tacit: Tacit) -> None:
    keys = world.folder / "seen.toml"
    tacit("review", RUN, "--write-trust", keys, "--profile", world.north.folder)
    assert load_trust(keys) == seen_trust(world.platform.agreement)
    assert keys.read_text().startswith("# as the platform shows them")
    assert review(world.north, RUN, trust=load_trust(keys)).pinned
    keys.write_text(keys.read_text() + "\nnonsense = 1\n")
    said = tacit("review", RUN, "--trust", keys, "--profile", world.north.folder)
    assert said.code == 2
    assert "is not a list of keys" in said.err
