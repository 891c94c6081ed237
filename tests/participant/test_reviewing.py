"""Before anything is signed: what is shown, what is refused."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit.agreement.terms import (
    Agreement,
    ParticipantTerms,
    agreement_hash,
    canonical,
    loss_words,
    promise_of,
)
from tacit.errors import AgreementError, FileError, PlatformError, TrustError
from tacit.identity.keys import Keys, key_fingerprint
from tacit.local.cluster import LocalCluster
from tacit.participant import (
    join,
    load_profile,
    new_key_file,
    review,
    save_trust,
    seen_trust,
    sign,
    submit,
)
from tests.participant.conftest import World
from tests.participant.platform import RUN, Platform, served
from tests.support.command_line import Tacit


def swapped_node(agreement: Agreement) -> Agreement:
    """The platform puts a key of its own in place of a node's."""
    mine = replace(agreement.nodes[1], sealing_key="ef" * 32)
    return replace(agreement, nodes=[agreement.nodes[0], mine, agreement.nodes[2]])


def other_signing_key(agreement: Agreement) -> Agreement:
    mine = replace(agreement.nodes[2], signing_key=Keys.new("platform").signing_public)
    return replace(agreement, nodes=[*agreement.nodes[:2], mine])


def moved_node(agreement: Agreement) -> Agreement:
    mine = replace(agreement.nodes[0], host="10.9.9.9")
    return replace(agreement, nodes=[mine, *agreement.nodes[1:]])


def invented_participant(agreement: Agreement) -> Agreement:
    """South's rows go to somebody whom nobody knows."""
    invented = ParticipantTerms("south-too", Keys.new("x").signing_public)
    terms = agreement.objectives[0]
    south = terms.owners[1]
    owners = [
        terms.owners[0],
        replace(south, rows=south.rows[:1]),
        replace(south, participant="south-too", rows=south.rows[1:]),
        terms.owners[2],
    ]
    return replace(
        agreement,
        participants=[*agreement.participants, invented],
        objectives=[replace(terms, owners=owners)],
    )


def played_participant(agreement: Agreement) -> Agreement:
    south = replace(agreement.participants[1], signing_key=Keys.new("x").signing_public)
    return replace(
        agreement, participants=[agreement.participants[0], south, *agreement.participants[2:]]
    )


def more_disclosed(agreement: Agreement) -> Agreement:
    return replace(agreement, objectives=[replace(agreement.objectives[0], disclosure="none")])


PINNED = [
    (swapped_node, "the sealing key of node 1 is not signed by the node for this agreement"),
    (other_signing_key, "has another signing key than the trusted one"),
    (moved_node, "node 0 at 10.9.9.9"),
    (invented_participant, "participant 'south-too' is not among the trusted keys"),
    (played_participant, "participant 'south' has another key than the trusted one"),
]
Lie = Callable[[Agreement], Agreement]


@pytest.mark.parametrize(("lie", "message"), PINNED, ids=[lie.__name__ for lie, _ in PINNED])
def test_with_pinned_keys_the_platform_can_slip_nobody_in(
    unpinned: World, tacit: Tacit, lie: Lie, message: str
) -> None:
    world = unpinned
    honest = world.platform.agreement
    keys = world.folder / "keys.toml"
    save_trust(seen_trust(honest), keys)
    world.platform.tamper["agreement"] = lie
    for command in (("review", RUN), ("sign", RUN, "--yes")):
        said = tacit(*command, "--trust", keys, "--profile", world.north.folder)
        assert said.code == 3
        assert said.err.startswith(f"tacit: do not sign {RUN}: ")
        assert message in said.err
        assert said.err.count("\n") == 1
    assert "north" not in world.platform.stored.signatures
    assert world.north.signed_agreement(RUN) is None
    # The honest one passes, and from now on the profile itself remembers the keys.
    world.platform.tamper.clear()
    assert tacit("review", RUN, "--trust", keys, "--profile", world.north.folder).code == 0
    world.platform.tamper["agreement"] = lie
    with pytest.raises(TrustError, match=message):
        sign(world.north, RUN)


@pytest.mark.parametrize("lie", [more_disclosed, swapped_node], ids=lambda lie: lie.__name__)
def test_after_signing_nothing_can_be_changed(world: World, tacit: Tacit, lie: Lie) -> None:
    for profile in world.profiles.values():
        sign(profile, RUN)
    before = len(world.platform.received)
    world.platform.tamper["agreement"] = lie
    said = tacit("submit", RUN, world.csv(), "--profile", world.north.folder)
    assert said.code == 3
    assert "the platform now shows another agreement" in said.err
    assert not world.north.manifests(RUN, 0)
    assert not any(world.platform.received[before::2]), "no body was sent"
    what = "objectives" if lie is more_disclosed else "nodes"
    refusal = f"signed another agreement for this run .* has changed it since: {what}"
    with pytest.raises(TrustError, match=refusal):
        sign(world.north, RUN)
    signed = world.north.signed_agreement(RUN)
    assert signed == world.platform.agreement, "what was signed first stays"


def test_what_the_review_says(world: World, tacit: Tacit) -> None:
    agreement = world.platform.agreement
    said = tacit("review", "morning", "--profile", world.north.folder, "--costs", world.csv())
    assert said.code == 0
    assert f"Agreement {agreement_hash(agreement).hex()}" in said.out
    assert "3 of 9 rows are yours (F0, F1, F2), 9 numbers from 0 to 300 each" in said.out
    assert "which 4 of 20 plans are best, not by how much, nor in which order" in said.out
    assert "at most 0 equations and 384 inequations" in said.out  # 4 * 16 * 6
    assert "deadline: 20 s after the start (the platform's word" in said.out
    assert promise_of(3) in said.out
    assert loss_words(3, "wait", grace=10.0) in said.out
    keys = [node.signing_key for node in agreement.nodes]
    for key in (*keys, *(each.signing_key for each in agreement.participants)):
        assert key_fingerprint(key) in said.out
    assert "nobody but the platform says whose keys these are" not in said.out
    told = json.loads(tacit("review", RUN, "--json", "--profile", world.north.folder).out)
    assert told["may_sign"]
    assert told["pinned"]
    assert (told["on_loss"], told["grace_seconds"]) == ("wait", 10.0)
    assert told["rows"] == {"delay": [0, 1, 2]}
    assert told["limits"]["evaluations"] == 6


def test_sign_asks_and_keeps_what_was_signed(
    world: World, tacit: Tacit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    said = tacit("sign", RUN, "--profile", world.north.folder)
    assert said.code == 130
    assert "north" not in world.platform.stored.signatures
    said = tacit("sign", RUN, "--yes", "--profile", world.north.folder)
    agreement = world.platform.agreement
    assert said.out.startswith(f"signed {agreement_hash(agreement).hex()} as 'north'")
    kept = world.north.folder / "runs" / RUN / "agreement.json"
    assert kept.read_bytes() == canonical(agreement)
    assert tacit("sign", RUN, "--yes", "--profile", world.north.folder).code == 0, "once more"


def test_a_typo_in_ones_own_file_is_no_alarm(world: World, tacit: Tacit) -> None:
    folder = ("--profile", world.north.folder)
    assert "Your file fits 'delay'" in tacit("review", RUN, "--costs", world.csv(), *folder).out
    world.csv().write_text(world.csv().read_text().replace("F0", "F00"))
    for command in ("review", "sign"):
        said = tacit(command, RUN, "--costs", world.csv(), *folder)
        assert (said.code, "DO NOT SIGN" in said.out) == (2, False)
        assert "row 'F00': is not a row of 'north'" in said.err
    assert "north" not in world.platform.stored.signatures


def test_without_a_terminal_sign_says_what_to_do(
    world: World, tacit: Tacit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    said = tacit("sign", RUN, "--profile", world.north.folder)
    assert (said.code, "sign what it showed with --yes" in said.err) == (2, True)


def test_what_is_signed_unseen_is_what_was_read(world: World, tacit: Tacit) -> None:
    folder = ("--profile", world.north.folder)
    said = tacit("sign", RUN, "--yes", *folder)
    assert said.code == 3
    assert "nobody has read the agreement" in said.err
    assert tacit("review", RUN, *folder).code == 0
    honest = world.platform.agreement
    world.platform.redraft(more_disclosed(honest))
    said = tacit("sign", RUN, "--yes", *folder)
    assert said.code == 3
    assert "nothing was signed: run tacit participant review" in said.err
    assert "north" not in world.platform.stored.signatures
    assert world.north.signed_agreement(RUN) is None
    named = agreement_hash(world.platform.agreement).hex()
    assert tacit("sign", RUN, "--yes", "--agreement", "00" * 32, *folder).code == 3
    assert tacit("sign", RUN, "--yes", "--agreement", named, *folder).code == 0
    assert "north" in world.platform.stored.signatures


def test_what_is_forbidden_and_how_is_searched_is_shown(world: World, tacit: Tacit) -> None:
    honest = world.platform.agreement
    world.platform.redraft(replace(honest, problem=replace(honest.problem, forbidden=[(1, 2)])))
    out = tacit("review", RUN, "--profile", world.north.folder).out
    assert "a row and a column, 1 in all:\n    F1 (yours): not 8:20\n" in out
    assert "tournament: 3" in out
    many = [(row, column) for row in range(8) for column in range(row)]
    world.platform.redraft(replace(honest, problem=replace(honest.problem, forbidden=many)))
    out = tacit("review", RUN, "--profile", world.north.folder).out
    assert "\n    F1 (yours): not before 8:10\n    F2 (yours): not before 8:20\n    F3: not" in out
    told = json.loads(tacit("review", RUN, "--json", "--profile", world.north.folder).out)
    assert len(told["forbidden"]) == 28
    assert told["search"]["parameters"]["tournament"] == 3


def test_what_does_not_fit_us_is_not_signed(world: World) -> None:
    honest = world.platform.agreement

    def refuse(lie: Lie, match: str) -> None:
        world.platform.tamper["agreement"] = lie
        with pytest.raises(TrustError, match=match):
            sign(world.north, RUN)

    other = Keys.new("x").signing_public
    first = honest.participants[0]
    refuse(
        lambda a: replace(a, participants=[replace(first, signing_key=other), *a.participants[1:]]),
        "it has another key under your name, 'north', than yours",
    )
    refuse(
        lambda a: replace(a, participants=[replace(first, name="n"), *a.participants[1:]]),
        "you, 'north', are not among its participants",
    )
    refuse(lambda a: replace(a, limits=replace(a.limits, expires=1)), "it has expired")
    refuse(lambda a: replace(a, nodes=[a.nodes[0]] * 3), "contradicts itself: two parties share")
    refuse(
        lambda a: replace(a, search=replace(a.search, algorithm="mine")), "could not be followed"
    )
    refuse(
        lambda a: replace(a, search=replace(a.search, populations="chosen")),
        "the platform chooses what is evaluated",
    )
    world.platform.tamper["agreement"] = lambda a: canonical(a).replace(b":", b": ", 1)
    with pytest.raises(AgreementError, match="not in canonical form"):
        sign(world.north, RUN)


def test_without_a_signature_nothing_is_sealed(world: World) -> None:
    with pytest.raises(TrustError, match=f"has signed nothing for {RUN}; run tacit participant"):
        submit(world.north, RUN, world.csv())


def test_an_agreement_that_is_not_there_yet(nodes: LocalCluster, tmp_path: Path) -> None:
    with served(Platform(nodes, tmp_path)) as platform:
        new_key_file("north", tmp_path)
        north = join(platform.url, platform.codes["north"], profile=tmp_path, ca=platform.ca)
        with pytest.raises(PlatformError, match="waiting for: south, west"):
            review(north, RUN)


def test_names_cannot_fake_what_a_terminal_shows(world: World, tacit: Tacit) -> None:
    def rename(agreement: Agreement) -> Agreement:
        names = ["\x1b[2Jclean\nNote: all is well", *[f"F{i}" for i in range(1, 9)]]
        return replace(agreement, problem=replace(agreement.problem, row_names=names))

    world.platform.tamper["agreement"] = rename
    out = tacit("review", RUN, "--profile", world.north.folder).out
    assert "\x1b" not in out
    assert "\nNote: all is well" not in out
    with pytest.raises(TrustError, match="characters that cannot be seen"):
        sign(world.north, RUN)


def test_no_error_and_no_json_moves_a_terminal(world: World, tacit: Tacit) -> None:
    """An agreement of an earlier time, names in errors, and what is not ASCII."""
    honest = world.platform.agreement
    names = ["\x1b]0;x\x07\x9b2J", *[f"F{i}" for i in range(1, 9)]]
    world.north.keep_agreement(
        RUN, replace(honest, problem=replace(honest.problem, row_names=names))
    )
    world.csv().write_text("flight" + world.csv().read_text()[6:].replace("F0", "F7"))
    said = tacit("submit", RUN, world.csv(), "--profile", world.north.folder)
    assert said.code == 2
    assert "give yours only" in said.err
    assert said.err.rstrip("\n").isprintable()
    state = {"state": "\x1b[2Jagreed\x9b\x7f"}
    world.platform.tamper["runs"] = lambda runs: [{**run, **state} for run in runs]
    for what in (RUN, "withdraw"):
        world.platform.tamper[what] = lambda run: {**run, **state}
    for command in (("runs", "--json"), ("review", RUN, "--json"), ("withdraw", RUN, "--yes")):
        out = tacit(*command, "--profile", world.north.folder).out
        assert out.replace("\n", "").isprintable()


def test_all_files_are_the_owners_alone(world: World) -> None:
    sign(world.north, RUN)
    files = [path for path in world.north.folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"profile.json", "north.key", "agreement.json"}
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    (world.north.folder / "runs" / RUN / "agreement.json").write_bytes(b"{}")
    with pytest.raises(FileError, match="was changed"):
        world.north.signed_agreement(RUN)
    profile = Path(world.north.folder / "profile.json")
    assert world.north.token not in repr(world.north)
    profile.chmod(0o644)
    with pytest.raises(FileError, match="can be read by others"):
        load_profile(world.north.folder)


def test_whoever_is_left_out_is_mentioned(world: World) -> None:
    seen = seen_trust(world.platform.agreement)
    east = replace(seen.participant[0], name="east")
    made = review(world.north, RUN, trust=replace(seen, participant=[*seen.participant, east]))
    assert not made.refusals
    assert "not in this run, of those you trust: east" in made.warnings
