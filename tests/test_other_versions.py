"""Files of another version of tacit are refused by one sentence, whatever else is in them."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import tacit
from tacit.agreement import read_agreement, read_series
from tacit.audit.record import load_record
from tacit.client.certificates import read_invitation
from tacit.errors import LogError, TacitError
from tacit.identity import Keys, load_half, load_keys, save_keys
from tacit.participant.leakage_budget import load_hashes
from tacit.participant.profile import Profile, load_profile
from tacit.problems import load_problem
from tacit.records.ledger import read_ledger
from tacit.records.log import FIRST, verify_log
from tacit.runs import load_result
from tacit.service.server.backup import read_backup
from tacit.verify.bundle import read_bundle
from tests.runs.checkpointed import fresh_run, resume_from

Read = Callable[[Path, str], object]


def in_json(path: Path, of: str) -> Path:
    path.write_text(json.dumps({"format": of, "new": 1}))
    path.chmod(0o600)
    return path


def in_first_line(path: Path, of: str) -> Path:
    path.write_bytes(f"{of}\n".encode() + bytes(100))
    return path


def bundle(of: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("bundle.json", json.dumps({"format": of}))
    return packed.getvalue()


def line(**fields: object) -> bytes:
    return msgspec.json.encode({"at": 0, "previous": FIRST, **fields}) + b"\n"


def half(path: Path, of: str) -> Path:
    path.write_text(f'format = "{of}"\nkind = "star"\n')
    return path


def hashes_of(folder: Path, of: str) -> object:
    save_keys(Keys.new("north"), folder / "north.key")
    profile = Profile(folder, "https://p.example", "north", "token", 9.0, folder / "north.key")
    file = profile.run_folder("r-1") / "sealed-0.json"
    file.parent.mkdir(parents=True)
    in_json(file, of)
    return load_hashes(profile, "r-1", 0)


def backup(place: Path, of: str) -> object:
    with in_first_line(place / "platform.backup", of).open("rb") as file:
        return list(read_backup(file, name="platform.backup"))


READERS: dict[str, Read] = {
    "tacit-agreement/1": lambda place, of: read_agreement(json.dumps({"format": of}).encode()),
    "tacit-backup/1": backup,
    "tacit-bundle/1": lambda place, of: read_bundle(bundle(of)),
    "tacit-checkpoint/1": lambda place, of: resume_from(
        in_first_line(place / "run", of), fresh_run("none")
    ),
    "tacit-invitation/1": lambda place, of: read_invitation(in_json(place / "it.tacit", of)),
    "tacit-keys/1": lambda place, of: load_keys(in_json(place / "north.key", of)),
    "tacit-log/1": lambda place, of: verify_log(line(event="agreed", agreement="ab", format=of)),
    "tacit-problem/1": lambda place, of: load_problem(in_json(place / "p.json", of)),
    "tacit-profile/1": lambda place, of: load_profile(in_json(place / "profile.json", of).parent),
    "tacit-public/1": lambda place, of: load_half(half(place / "a.public.toml", of)),
    "tacit-record/1": lambda place, of: load_record(in_first_line(place / "run.record", of)),
    "tacit-result/1": lambda place, of: load_result(in_json(place / "result.json", of)),
    "tacit-sealed-rows/1": hashes_of,
    "tacit-series/1": lambda place, of: read_series(json.dumps({"format": of}).encode()),
}


@pytest.mark.parametrize("name", READERS)
def test_what_another_version_wrote_is_said_to_be_that(name: str, tmp_path: Path) -> None:
    other = name.replace("/1", "/2")
    with pytest.raises(TacitError) as caught:
        READERS[name](tmp_path, other)
    said = f"has the format {other!r} of another version of tacit; this one reads {name!r}"
    assert str(caught.value).count(said) == 1


def test_events_and_entries_that_are_unknown_are_refused() -> None:
    with pytest.raises(LogError, match="not an event of this version"):
        verify_log(line(event="merged"))
    with pytest.raises(LogError, match="not a ledger entry"):
        read_ledger(b'{"entry":"pareto"}\n')


def test_every_format_begins_at_1_and_is_tried_here() -> None:
    root, named = Path(tacit.__file__).parent, set()
    for path in {*root.rglob("*.py")} - {root / "files.py"}:  # which has others as examples
        named |= {*re.findall(r'"(tacit-[a-z-]+/[0-9]+)"', path.read_text())}
    assert named == READERS.keys()
