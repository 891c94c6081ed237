"""Sealed rows leave the machine once, and faulty ones are refused before."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

import tacit.agreement.sealing
import tacit.participant.submission as tacit_submission
from tacit.errors import FileError, InputError, TrustError
from tacit.local.cluster import LocalCluster
from tacit.mpc import ArithmeticShare, deal
from tacit.participant import Profile, sign, submissions, submit
from tacit.participant.costs import read_costs
from tests.participant.conftest import World, join_all
from tests.participant.platform import RUN, Platform, served
from tests.support.command_line import Tacit


@pytest.fixture
def agreed(world: World) -> World:
    for profile in world.profiles.values():
        sign(profile, RUN)
    return world


@pytest.fixture(scope="module")
def untouched(nodes: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Agreed as well, for tests that leave everything as it was."""
    folder = tmp_path_factory.mktemp("untouched")
    with served(Platform(nodes, folder)) as platform:
        profiles = join_all(platform, folder)
        for profile in profiles.values():
            sign(profile, RUN)
        yield World(platform, profiles, folder)


def test_no_weight_and_no_share_leaves_unsealed(
    agreed: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    dealt: list[ArithmeticShare] = []

    def watched(secret: Any, *, nodes: int) -> Any:
        shares = deal(secret, nodes=nodes)
        dealt.extend(shares)
        return shares

    monkeypatch.setattr(tacit.agreement.sealing, "deal", watched)
    before = {path: path.read_bytes() for path in agreed.folder.rglob("*") if path.is_file()}
    submit(agreed.north, RUN, agreed.csv())
    weights = agreed.platform.problem.objectives[0].weights
    assert weights is not None
    secrets = [row.astype("<u8").tobytes()[:24] for row in weights[:3]]
    secrets += [line.encode()[3:18] for line in agreed.csv().read_text().splitlines()[1:]]
    secrets += [
        part[row].astype("<u8").tobytes()[:16]
        for share in dealt
        for part in share.parts.values()
        for row in range(3)
    ]
    secrets.append(agreed.north.keys().signing.private_bytes_raw())
    secrets += [s.hex().encode() for s in secrets]
    assert len(dealt) == 3
    upload = next(each for each in agreed.platform.received if b'"boxes"' in each)
    boxes = [b64decode(box) for box in msgspec.json.decode(upload)["boxes"]]
    written = [
        path.read_bytes()
        for path in agreed.folder.rglob("*")
        if path.is_file() and path not in before
    ]
    assert [path.name for path in agreed.north.folder.rglob("manifest-*")] == ["manifest-0-1.json"]
    for seen in (*agreed.platform.received, *boxes, *written):
        assert not [secret for secret in secrets if secret in seen]
    # The watch would have seen them: the file itself has them.
    assert any(secret in agreed.csv().read_bytes() for secret in secrets)


def test_submitting_again_is_harmless_and_a_refusal_is_sealed_anew(
    agreed: World, tacit: Tacit
) -> None:
    words = ("submit", RUN, agreed.csv(), "--profile", agreed.north.folder)
    assert "the nodes' check is waiting" in tacit(*words).out
    first = agreed.platform.stored.rows[0].manifest
    again = tacit(*words)
    assert again.code == 0
    assert "nothing was sent, since rows are sealed once per agreement" in again.out
    assert agreed.platform.stored.rows[0].manifest == first
    agreed.platform.refuse("north", "a weight is outside 0..3000")
    assert submissions(agreed.north, RUN)[0].reason == "a weight is outside 0..3000"
    assert tacit(*words).code == 0
    assert agreed.platform.stored.rows[0].manifest != first
    assert len(agreed.north.manifests(RUN, 0)) == 2


def test_rows_without_receipts_are_handed_in_all_the_same(
    agreed: World, tacit: Tacit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetched(profile: Profile, _client: object, run: str) -> int:
        profile.keep(run, "receipts.jsonl", b"{}")
        return 1

    monkeypatch.setattr(tacit_submission, "fetch_receipts", fetched)
    (agreed.north.folder / "runs" / RUN / "receipts.jsonl").mkdir()
    words = ("submit", RUN, agreed.csv(), "--profile", agreed.north.folder)
    said = tacit(*words)
    assert (said.code, said.out.startswith("sealed and handed in")) == (0, True), said
    assert "handed in, but its receipts were not kept" in said.err
    assert submissions(agreed.north, RUN)[0].boxes


def test_boxes_that_we_did_not_seal_are_noticed(agreed: World) -> None:
    agreed.platform.tamper["submission"] = lambda _: [
        {"objective": 0, "state": "accepted", "reason": None, "boxes": ["00" * 32] * 3}
    ]
    with pytest.raises(TrustError, match="that this machine did not seal"):
        submit(agreed.north, RUN, agreed.csv())


def test_weights_as_an_array(agreed: World) -> None:
    weights = agreed.platform.problem.objectives[0].weights
    assert weights is not None
    assert submit(agreed.profiles["south"], RUN, weights[3:6]).state == "waiting"
    with pytest.raises(InputError, match="owns 3 rows of 9 weights"):
        submit(agreed.north, RUN, weights)
    bad = weights[:3].copy()
    bad[1, 2] = 3001
    with pytest.raises(InputError, match="the weight 3001 of row F1, column 8:20 is outside 0"):
        submit(agreed.north, RUN, bad)
    with pytest.raises(InputError, match="scale them to whole numbers"):
        submit(agreed.north, RUN, weights[:3] / 10)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seals nothing for 'fuel'; choose from 'delay'"):
        submit(agreed.north, RUN, weights[:3], objective="fuel")


HEAD = "flight,8:00,8:10,8:20,8:30,8:40,8:50,9:00,9:10,9:20\n"
ROWS = ["F0,1,2,3,4,5,6,7,8,9", "F1,1,2,3,4,5,6,7,8,9.5", "F2,1,2,3,4,5,6,7,8,300"]


def lines(*changed: str) -> str:
    return HEAD + "\n".join(changed or ROWS) + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            lines(*ROWS[:2], ROWS[2].replace("300", "300.1")),
            "row 4, column 10 (cell J4): 300.1 times scale 10 is above the largest weight, 3000; "
            "the agreement allows 0 to 300: correct the cell, or ask for a new run",
        ),
        (
            lines(ROWS[0], ROWS[1].replace("9.5", "9.55"), ROWS[2]),
            "row 3, column 10 (cell J3): 9.55 has more decimals than scale 10 keeps; the agreement "
            "allows 1 after the point: round it",
        ),
        (
            lines(ROWS[0].replace("F0,1", "F0,-1"), *ROWS[1:]),
            "row 2, column 2 (cell B2): -1 is negative",
        ),
        (
            lines(ROWS[0].replace("F0,1", "F0,"), *ROWS[1:]),
            "row 2, column 2 (cell B2): the cell is empty; fill in a number",
        ),
        (lines(*ROWS[:2]), "lacks F2; add what is missing"),
        (lines(*ROWS, ROWS[0]), "row 'F0': stands twice; keep one of them"),
        (lines(*ROWS, ROWS[0].replace("F0", "F8")), "row 'F8': is not a row of 'north'"),
        (lines(*ROWS, ROWS[0].replace("F0", "3")), "row '3': is not a row of 'north'"),
        (
            lines().replace("8:00", "7:00"),
            "column '7:00': is not in the agreement; the agreement's columns are 8:00, 8:10",
        ),
        (lines().replace("8:00", "8:10"), "column '8:10': stands twice"),
        (
            "\n".join(row.rpartition(",")[0] for row in lines().split("\n")),
            "has 8 columns of numbers",
        ),
        (
            "\n".join(row[3:] for row in [*ROWS, ROWS[0]]),
            "has 4 rows without names; 'north' owns 3; give your own rows only",
        ),
    ],
)
def test_the_cell_or_row_that_is_wrong_is_named(
    untouched: World, tacit: Tacit, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    said = tacit("submit", RUN, path, "--profile", untouched.north.folder)
    assert said.code == 2
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not untouched.platform.stored.rows


@pytest.mark.parametrize(
    "text",
    [
        lines(),
        lines(*ROWS[::-1]),
        lines().replace("F0", "0").replace("F2", "2"),
        "\n".join(row[3:] for row in ROWS),
        "\n".join(ROWS),
        "\n".join(row.replace("F", "") for row in ROWS),
        lines().replace(",", ";"),
        "\n".join(
            ",".join([row.split(",")[0], *row.split(",")[:0:-1]])
            for row in lines().strip().split("\n")
        ),
    ],
    ids=["whole", "upside down", "numbers", "bare", "no header", "only numbers", "semicolons",
         "columns turned"],
)  # fmt: skip
def test_rows_by_name_by_number_or_in_order(untouched: World, text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    found = read_costs(path, untouched.platform.agreement, "north", 0)
    expected = np.tile(np.arange(10, 100, 10), (3, 1))
    expected[1, 8], expected[2, 8] = 95, 3000
    assert np.array_equal(found, expected)


def test_columns_in_any_order_only_by_name(untouched: World, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(lines())
    agreement = untouched.platform.agreement
    nameless = replace(agreement, problem=replace(agreement.problem, column_names=None))
    assert np.array_equal(
        read_costs(path, nameless, "north", 0), read_costs(path, agreement, "north", 0)
    )
    with pytest.raises(FileError, match="there is no such file"):
        read_costs(tmp_path / "gone.csv", agreement, "north", 0)
