"""Joining, certificates and keys, and a platform that is away or answers something else."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tacit.client import PlatformClient, tls_context
from tacit.errors import FileError, InputError, NotThereError, PlatformError, TacitError, TrustError
from tacit.identity import write_https_certificate
from tacit.identity.certificates import CertificateFiles, new_certificate
from tacit.local.cluster import LocalCluster, free_addresses
from tacit.participant import (
    find_key_file,
    join,
    load_profile,
    new_key_file,
    result,
    runs,
    sign,
    withdraw,
)
from tacit.problems import Objective
from tacit.service.access.credentials import revoke_all
from tests.conftest import RunTacit
from tests.participant.conftest import World
from tests.participant.platform import RUN, Platform, csv_of, served, slots
from tests.support.command_line import Tacit
from tests.support.website import served as website

NOWHERE = Path("no-such-folder")


def test_a_folder_without_keys_or_profile_says_which_command_makes_them() -> None:
    with pytest.raises(FileError, match="run tacit participant keys new NAME first"):
        find_key_file(NOWHERE)
    with pytest.raises(FileError, match="run tacit participant keys new NAME first"):
        join("https://platform.example", "code", profile=NOWHERE)
    with pytest.raises(FileError, match="run tacit participant join with your invitation"):
        load_profile(NOWHERE)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    new_key_file("north", tmp_path / "north")
    return tmp_path / "north"


def refusal(url: str, profile: Path, ca: Path | None) -> str:
    with pytest.raises(TrustError) as error:
        join(url, "tci_code", profile=profile, ca=ca)
    said = str(error.value)
    assert said.startswith(f"{url} shows a certificate that is not trusted here; nothing was sent")
    return said


def test_the_file_of_somebody_else(tmp_path: Path, profile: Path) -> None:
    """Such as the one that the platform shows its nodes, which lies beside the right one."""
    write_https_certificate(tmp_path, ["127.0.0.1"], name="service")
    wrong = new_certificate("platform", tmp_path).certificate
    with website(tmp_path) as port:
        url = f"https://127.0.0.1:{port}"
        said = refusal(url, profile, wrong)
        assert "the certificate that you gave is another one, of 'CN=platform' (" in said
        with pytest.raises(TrustError, match="the certificate that you gave is another one"):
            join(url, "tci_code", profile=profile, certificate=wrong.read_text())
        assert "the platform shows that of 'CN=platform at 127.0.0.1' (" in said
        assert "get ca.pem from its operator, compare its fingerprint by phone" in said
        assert not (profile / "ca.pem").exists(), "a wrong one is not kept"
        known = (tmp_path / "ca.pem").read_bytes()
        (profile / "ca.pem").write_bytes(known)
        refusal(url, profile, wrong)
        assert (profile / "ca.pem").read_bytes() == known
        (profile / "ca.pem").unlink()
        assert "no authority that this computer knows has signed it" in refusal(url, profile, None)


def test_what_is_pinned_changes_when_an_invitation_was_taken_and_not_before(
    tmp_path: Path, profile: Path, run_here: RunTacit, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_https_certificate(tmp_path, ["127.0.0.1"], name="service")
    known = profile / "ca.pem"
    known.write_bytes(b"as it was")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    operators = tmp_path / "tacit" / "operator" / "ca.pem"
    operators.parent.mkdir(parents=True)
    operators.write_bytes(b"as it was")
    with website(tmp_path) as port:  # which knows of no invitations
        url = f"https://127.0.0.1:{port}"
        with pytest.raises(TacitError):
            join(url, "tci_code", profile=profile, ca=tmp_path / "ca.pem")
        done = run_here("run", "sign-in", url, "tci_code", "--ca", tmp_path / "ca.pem")
    assert done.returncode
    assert known.read_bytes() == operators.read_bytes() == b"as it was"
    assert sorted(path.name for path in profile.iterdir()) == ["ca.pem", "north.key"]
    assert [path.name for path in operators.parent.iterdir()] == ["ca.pem"]


def test_a_certificate_for_other_names(tmp_path: Path, profile: Path) -> None:
    write_https_certificate(tmp_path, ["p.example", "10.1.2.3"], name="service")
    with website(tmp_path) as port:
        said = refusal(f"https://localhost:{port}", profile, tmp_path / "ca.pem")
        assert "it is for p.example, 10.1.2.3 and not for localhost: use one of these" in said
        said = refusal(f"https://127.0.0.1:{port}", profile, tmp_path / "ca.pem")
        assert "and not for 127.0.0.1" in said


def test_offline(world: World, tacit: Tacit) -> None:
    replace(world.north, url=f"https://{free_addresses(1)[0]}").save()
    said = tacit("runs", "--profile", world.north.folder)
    assert said.code == 4
    assert "cannot be reached" in said.err
    assert "check your network connection and the address" in said.err
    assert said.err.count("\n") == 1


def test_another_certificate_gets_no_token(world: World, tacit: Tacit) -> None:
    before = len(world.platform.received)
    other = new_certificate("somebody", world.folder).certificate
    (world.north.folder / "ca.pem").write_text(other.read_text())
    said = tacit("runs", "--profile", world.north.folder)
    assert said.code == 3
    assert "shows a certificate that is not trusted here" in said.err
    assert "somebody stands in between" in said.err
    (world.north.folder / "ca.pem").unlink()
    assert tacit("runs", "--profile", world.north.folder).code == 3, "nor does this computer"
    assert len(world.platform.received) == before


def test_an_expired_token(world: World, tacit: Tacit) -> None:
    with world.platform.database.writing() as session:
        revoke_all(session, "north")
    said = tacit("review", RUN, "--profile", world.north.folder)
    assert said.code == 4
    assert "has expired or was revoked; ask the operator for a new invitation" in said.err
    assert f"tacit participant join {world.platform.url} CODE" in said.err
    code = world.platform.invite_again("north")
    again = tacit("join", world.platform.url, code, "--profile", world.north.folder)
    assert again.code == 0, again.err
    assert runs(load_profile(world.north.folder))[0].id == RUN


def test_an_invitation_works_once(world: World, tacit: Tacit) -> None:
    used = world.platform.codes["north"]
    said = tacit("join", world.platform.url, used, "--profile", world.north.folder)
    assert said.code == 4
    assert "it was used, has expired or was mistyped; ask the operator for a new one" in said.err


def test_the_wrong_state_is_told_in_the_platforms_words(world: World, tacit: Tacit) -> None:
    sign(world.north, RUN)
    said = tacit("submit", RUN, world.csv(), "--profile", world.north.folder)
    assert said.code == 4
    assert said.err == "tacit: the run is invited; to submit it must be agreed\n"
    assert withdraw(world.north, RUN, reason="ill").state == "cancelled"
    said = tacit("result", RUN, "--profile", world.north.folder)
    assert said.code == 6
    assert said.err.endswith(f"tacit: {RUN} is cancelled and will have no plan\n")


def test_a_run_that_was_cancelled_unsigned_alarms_nobody(world: World, tacit: Tacit) -> None:
    withdraw(world.north, RUN, reason="ill")
    said = tacit("log", RUN, "--profile", world.north.folder)
    assert said.code == 4
    assert "is cancelled, and this machine has signed and sealed nothing for it" in said.err


def test_no_such_run(world: World, tacit: Tacit) -> None:
    assert tacit("review", "evening", "--profile", world.north.folder).code == 2
    with pytest.raises(NotThereError):
        result(world.north, "r-zzzzzzzzzz")
    with pytest.raises(InputError, match="is not a run"):
        world.north.signed_agreement("../../etc")


def test_a_profile_stays_with_its_platform(world: World) -> None:
    with pytest.raises(InputError, match="has the profile of 'north'"):
        join("https://other.example", "code", profile=world.north.folder)


def test_what_is_no_tacit_platform(tmp_path: Path, tacit: Tacit) -> None:
    assert tacit("runs", "--profile", tmp_path).code == 2
    said = tacit("join", "http://platform.example", "x", "--profile", tmp_path)
    assert "your token would travel in the open" in said.err
    (tmp_path / "bad.pem").write_text("nonsense")
    with pytest.raises(InputError, match="is not a certificate"):
        tls_context(tmp_path / "bad.pem")


def test_the_plan_for_a_desk_and_for_a_spreadsheet(finished: World, tacit: Tacit) -> None:
    folder = finished.north.folder
    said = tacit("result", RUN, "--profile", folder)
    assert said.code == 0
    head, *lines = said.out.splitlines()
    assert head.split() == ["row", "column"]
    assert [line.endswith("*") for line in lines] == [True] * 3 + [False] * 6
    table = tacit("result", RUN, "--csv", "--profile", folder).out.splitlines()
    assert table[0] == "row,column,whose"
    assert table[1].startswith("F0,")
    assert table[1].endswith(",yours")
    assert '"items"' in tacit("result", RUN, "--json", "--profile", folder).out
    assert tacit("runs", "--profile", folder).out == f"{RUN}  finished     morning\n"
    late = tacit("withdraw", RUN, "--yes", "--profile", folder)
    assert late.code == 4
    assert "the run is finished; to become cancelled it must be" in late.err


def test_what_ones_own_rows_cost_is_computed_here(finished: World, tacit: Tacit) -> None:
    command = ("result", RUN, "--costs", finished.csv(), "--profile", finished.north.folder)
    plan = json.loads(tacit("result", RUN, "--json", *command[-2:]).out)["plan"]["items"]
    weights = finished.platform.problem.objectives[0].weights
    assert weights is not None
    own = [int(weights[row, plan[row]]) / 10 for row in range(3)]
    sent = finished.platform.received
    sent.clear()
    tacit("result", RUN, *command[-2:])
    usual = [len(body) for body in sent]
    sent.clear()
    said = tacit(*command)
    assert [len(body) for body in sent] == usual, "the file is nobody's business"
    assert (said.code, "Note" in said.err) == (0, False)
    assert [float(line.split()[-1]) for line in said.out.splitlines()[-4:]] == pytest.approx(
        [*own, sum(own)]
    )
    table = tacit(*command, "--csv").out.splitlines()
    assert table[0] == "row,column,cost"
    assert [float(line.split(",")[2]) for line in table[1:]] == own
    shown = json.loads(tacit(*command, "--json").out)["own_costs"]["plans"]
    assert float(shown[0]["sum"]) == pytest.approx(sum(own))
    other = finished.folder / "other.csv"
    other.write_text(csv_of(replace(finished.platform.problem, objectives=(raised(),)), "north"))
    said = tacit("result", RUN, "--costs", other, *command[-2:])
    assert "in your file F0, F1, F2 is not what you sealed for this run" in said.err
    wrong = tacit("result", RUN, "--costs", finished.csv("south"), *command[-2:])
    assert (wrong.code, "is not a row of 'north'" in wrong.err) == (2, True)
    assert tacit("result", RUN, "--objective", "delay", *command[-2:]).code == 2


def raised() -> Objective:
    """Other costs of the same flights."""
    (delay,) = slots().objectives
    assert delay.weights is not None
    return replace(delay, weights=(delay.weights + 1) % 3000)


def test_keys(tmp_path: Path, tacit: Tacit) -> None:
    made = tacit("keys", "new", "north", "--profile", tmp_path)
    assert made.code == 0
    assert tacit("keys", "show", "--profile", tmp_path).out == made.out
    assert tacit("keys", "new", "north", "--profile", tmp_path).code == 2
    assert tacit("keys", "new", "../x", "--profile", tmp_path).code == 2
    tacit("keys", "new", "south", "--profile", tmp_path)
    said = tacit("join", "https://platform.example", "code", "--profile", tmp_path)
    assert "there are several keys (north.key, south.key); choose one with --key" in said.err


def authority_for(name: str, folder: Path) -> tuple[Path, Path]:
    """A self-signed authority that is a server of this name as well; certificate and key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(made.public_bytes(Encoding.PEM))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "ca.key").write_bytes(secret)
    (folder / "ca.key").chmod(0o600)
    return folder / "ca.pem", folder / "ca.key"


@pytest.mark.parametrize("name", ["localhost", "other.example"])
def test_an_authority_vouches_for_names(nodes: LocalCluster, tmp_path: Path, name: str) -> None:
    """Whoever has a certificate of the same authority for another name is not the platform."""
    certificate = CertificateFiles(*authority_for(name, tmp_path))
    with served(Platform(nodes, tmp_path, certificate=certificate)) as platform:
        url = platform.url.replace("127.0.0.1", "localhost")
        with PlatformClient(url, token="x", ca=tmp_path / "ca.pem") as client:
            expected = PlatformError if name == "localhost" else TrustError
            with pytest.raises(expected, match="your token" if name == "localhost" else "not for"):
                client.send("GET", "/runs")
