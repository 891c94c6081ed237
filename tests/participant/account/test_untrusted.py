"""A certificate that does not fit: what is wrong with it, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import TacitError, TrustError
from tacit.identity import new_certificate, write_https_certificate
from tacit.participant import join, new_key_file
from tests.conftest import RunTacit
from tests.support.website import served


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
    with served(tmp_path) as port:
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
    with served(tmp_path) as port:  # which knows of no invitations
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
    with served(tmp_path) as port:
        said = refusal(f"https://localhost:{port}", profile, tmp_path / "ca.pem")
        assert "it is for p.example, 10.1.2.3 and not for localhost: use one of these" in said
        said = refusal(f"https://127.0.0.1:{port}", profile, tmp_path / "ca.pem")
        assert "and not for 127.0.0.1" in said
