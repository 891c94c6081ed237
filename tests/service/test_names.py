"""Names are what they look like, at every door."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import check_agreement
from tacit.agreement.series_rules import check_series
from tacit.errors import AgreementError, FileError, WrongStateError
from tacit.names import check_label, checked_name, first_look_alikes, look_alike, one_form
from tacit.service.server.settings import load_settings
from tacit.service.storage import create_account
from tests.service.example_terms import plain_terms
from tests.service.world import World

CYRILLIC = "n\u043erth"
HIDDEN = {
    "C1": "north\x85",
    "bidi": "no\u202erth",
    "isolate": "no\u2066rth",
    "zero width": "no\u200brth",
    "joiner": "no\u200drth",
    "byte order": "\ufeffnorth",
    "filler": "no\u3164rth",
    "variation": "north\ufe0f",
    "tag": "north\U000e0041",
    "grapheme joiner": "no\u034frth",
    "only marks": "\u0301\u0300",
    "many marks": "a" + "\u0330\u0331" * 4,
    "not NFC": "cafe\u0301",
    "mixed": CYRILLIC,
    "fullwidth": "\uff4eorth",
    "mathematical": "\U0001d427orth",
    "ligature": "\ufb01sh",
    "phonetic": "nor\u1d1bh",
    "a script of few": "\ua4e0\ua4f3\ua4e3\ua4d4",
    "digits of another script": "north\u0967",
    "blank at the end": "north ",
    "no-break space": "north\u00a0south",
}
PLAIN = [
    *(
        "delay in µs",
        "CO₂ per km²",
        "№ 5 / week 3",
        "cost α",
        "O'Hare – Köln → 東京タワー",
        "αβγ δ",
    ),
    *("Київ", "ไทยทำ", "שלום", "नमस्ते", "م٤", "가나다 A", "名前A", "Nguyễn", "straße", "x²"),
]


@pytest.mark.parametrize("label", HIDDEN.values(), ids=HIDDEN)
def test_a_label_that_hides_something_is_refused(label: str) -> None:
    with pytest.raises(ValueError, match="the name"):
        check_label(label)


@pytest.mark.parametrize("label", PLAIN)
def test_labels_of_all_languages_are_taken(label: str) -> None:
    check_label(label)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("North", "north"),
        ("cop", "\u0441\u043e\u0440"),
        ("NOPT", "\u039d\u039f\u03a1\u03a4"),
        ("a1", "al"),
        ("aI", "al"),
        ("b0", "bO"),
        ("barn", "bam"),
        ("\u30ab", "\u529b"),
        ("\u0438\u043e\u0441", "\u0418\u041e\u0421"),
        ("stra\u00dfe", "strasse"),
        ("x\u00b2", "x2"),
    ],
)
def test_names_that_look_alike_are_told_apart(one: str, other: str) -> None:
    assert first_look_alikes([one, "else", other]) == (one, other)
    assert first_look_alikes([other, "else", one]) == (other, one)


def test_names_that_differ_do_not_look_alike() -> None:
    names = ["north", "nord", "south", "P1", "P2", "P10", "caf\u00e9", "cafe", "\u043c\u0438\u0440"]
    assert first_look_alikes(names) is None
    assert look_alike("west", {}) is None


def test_a_long_name_takes_no_time() -> None:
    marks = "a" + "\u0316\u0301" * 100_000
    begun = time.process_time()
    assert one_form(marks) == marks
    with pytest.raises(ValueError, match="a name has letters"):
        checked_name(marks)
    # Bringing so many marks into order takes minutes.
    assert time.process_time() - begun < 1


def test_an_account_looks_like_no_other(world: World) -> None:
    world.ok("POST", "/accounts", "op", json={"name": "cop-l", "role": "viewer"})
    for other in ("\u0441\u043e\u0440-1", "COP-L", "cop-1"):
        message = world.refused(
            "wrong_state", "POST", "/accounts", "op", json={"name": other, "role": "viewer"}
        )
        assert "looks like the account 'cop-l'" in message
    world.refused("malformed", "POST", "/accounts", "op", json={"name": CYRILLIC, "role": "viewer"})
    with pytest.raises(WrongStateError), world.platform.database.writing() as session:
        create_account(session, "Cop-L", "viewer")


def test_participants_of_a_run_look_like_no_other_account(world: World) -> None:
    run_id = world.draft(participants={"outs1der": [0, 1], "south": [2, 3]})
    world.add("outslder", "participant")
    assert "looks like the account 'outslder'" in world.refused(
        "refused", "POST", f"/runs/{run_id}/invite", "op"
    )


def _with(**changes: Any) -> dict[str, Any]:
    return {**plain_terms(), **changes}


def _objectives(*names: str) -> list[dict[str, Any]]:
    (only,) = plain_terms()["objectives"]
    return [{**only, "name": name} for name in names]


def doors(bad: str) -> list[tuple[str, dict[str, Any]]]:
    """Every request that makes a name."""
    problem = plain_terms()["problem"]
    return [
        ("/accounts", {"name": bad, "role": "viewer"}),
        ("/runs", _with(name=bad)),
        ("/runs", _with(problem={**problem, "name": bad})),
        ("/runs", _with(objectives=_objectives(bad))),
        ("/runs", _with(participants={bad: [0, 1], "south": [2, 3]})),
        ("/series", {"name": bad, "run": plain_terms()}),
        ("/series", {"name": "daily", "run": _with(name=bad)}),
    ]


@pytest.mark.parametrize("bad", [HIDDEN["bidi"], HIDDEN["C1"], CYRILLIC, HIDDEN["fullwidth"]])
def test_every_door_refuses_a_bad_name(world: World, bad: str) -> None:
    for path, body in doors(bad):
        world.refused("malformed", "POST", path, "op", json=body)
    series = world.agreed_series()
    world.refused("malformed", "POST", f"/series/{series}/runs", "op", json={"name": bad})


def test_rows_and_reasons_hide_nothing(world: World) -> None:
    problem = {**plain_terms()["problem"], "row_names": ["a", "b", "c\u202e", "d"]}
    world.refused("malformed", "POST", "/runs", "op", json=_with(problem=problem))
    run_id = world.draft()
    body = {"reason": "late\u2066"}
    world.refused("malformed", "POST", f"/runs/{run_id}/cancel", "op", json=body)


def test_objectives_and_participants_of_a_run_differ_to_the_eye(world: World) -> None:
    alike = _with(participants={"team-1": [0, 1], "team-l": [2, 3]})
    assert "look alike" in world.refused("malformed", "POST", "/runs", "op", json=alike)
    alike = _with(objectives=_objectives("cost", "\u0441\u043e\u0455\u0442"))
    assert "look alike" in world.refused("malformed", "POST", "/runs", "op", json=alike)
    twice = _with(participants={"caf\u00e9": [0, 1], "cafe\u0301": [2, 3]})
    assert "share a name" in world.refused("malformed", "POST", "/runs", "op", json=twice)


def test_nodes_refuse_agreements_whose_names_deceive(world: World) -> None:
    agreement = world.agreement(world.invited())
    first, second = agreement.participants
    (objective,) = agreement.objectives
    owners = [replace(each) for each in objective.owners]
    deceiving = [
        replace(agreement, participants=[first, replace(second, name="North")]),
        replace(agreement, participants=[replace(first, name=CYRILLIC), second]),
        replace(agreement, objectives=[replace(objective, name="co\u200bst", owners=owners)]),
        replace(agreement, problem=replace(agreement.problem, name=CYRILLIC)),
    ]
    for each in deceiving:
        with pytest.raises(AgreementError, match=r"look alike|the name"):
            check_agreement(each)
    series = world.series(world.agreed_series())
    with pytest.raises(AgreementError, match="the name"):
        check_series(replace(series, name=CYRILLIC))


def test_clusters_have_plain_names(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text(
        f'url = "https://x"\n[[cluster]]\nname = "{CYRILLIC}"\nfile = "c.toml"\n', encoding="utf-8"
    )
    with pytest.raises(FileError, match="mixes Cyrillic and Latin"):
        load_settings(path)
