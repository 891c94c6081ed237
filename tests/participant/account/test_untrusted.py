"""A certificate that does not fit: what is wrong with it, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.engine.identity import new_certificate, write_https_certificate
from tacit.errors import TrustError
from tacit.participant import join, new_key_file
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
        assert f"{wrong} is another one, of 'CN=platform' (" in said
        assert "the platform shows that of 'CN=127.0.0.1' (" in said
        assert "get ca.pem from its operator, compare its fingerprint by phone" in said
        assert not (profile / "ca.pem").exists(), "a wrong one is not kept"
        known = (tmp_path / "ca.pem").read_bytes()
        (profile / "ca.pem").write_bytes(known)
        refusal(url, profile, wrong)
        assert (profile / "ca.pem").read_bytes() == known
        (profile / "ca.pem").unlink()
        assert "no authority that this computer knows has signed it" in refusal(url, profile, None)


def test_a_certificate_for_other_names(tmp_path: Path, profile: Path) -> None:
    write_https_certificate(tmp_path, ["p.example", "10.1.2.3"], name="service")
    with served(tmp_path) as port:
        said = refusal(f"https://localhost:{port}", profile, tmp_path / "ca.pem")
        assert "it is for p.example, 10.1.2.3 and not for localhost: use one of these" in said
        said = refusal(f"https://127.0.0.1:{port}", profile, tmp_path / "ca.pem")
        assert "and not for 127.0.0.1" in said
