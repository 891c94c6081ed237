"""The platform's certificate as others verify it: names, addresses, and nothing beyond them."""

from __future__ import annotations

import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from tacit.errors import InputError
from tacit.identity import (
    AUTHORITY_FILE,
    https_hosts,
    is_own_https,
    read_certificate,
    write_https_certificate,
)
from tacit.identity.rotation import Rotated
from tacit.mpc.transport import certificate_hosts, split_certificates
from tests.support.website import served

HOSTS = ["platform.example", "127.0.0.1", "localhost"]


def verified(folder: Path, port: int, name: str, *, ca: str = AUTHORITY_FILE) -> None:
    """Shake hands as browsers do: with the name checked, and strictly."""
    context = ssl.create_default_context(cafile=folder / ca)
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    with (
        socket.create_connection(("127.0.0.1", port)) as plain,
        context.wrap_socket(plain, server_hostname=name),
    ):
        pass


def test_it_is_verified_by_name_and_by_address(tmp_path: Path) -> None:
    write_https_certificate(tmp_path, HOSTS, name="service")
    assert (tmp_path / "service.tls.key").stat().st_mode & 0o777 == 0o600
    with served(tmp_path) as port:
        for host in HOSTS:
            verified(tmp_path, port, host)
        with pytest.raises(ssl.SSLCertVerificationError, match=r"other\.example"):
            verified(tmp_path, port, "other.example")
        (tmp_path / "other").mkdir()
        write_https_certificate(tmp_path / "other", HOSTS, name="service")
        with pytest.raises(ssl.SSLCertVerificationError):
            verified(tmp_path, port, HOSTS[0], ca="other/ca.pem")


@pytest.mark.processes
def test_curl_verifies_it(tmp_path: Path) -> None:
    write_https_certificate(tmp_path, HOSTS, name="service")
    with served(tmp_path) as port:
        for host, works in (("127.0.0.1", True), ("platform.example", True), ("x.example", False)):
            done = subprocess.run(
                [
                    *("curl", "--silent", "--show-error", "--cacert", tmp_path / AUTHORITY_FILE),
                    *("--resolve", f"{host}:{port}:127.0.0.1", f"https://{host}:{port}/"),
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.stdout == "ok") is works, done.stderr


def test_the_authority_vouches_for_these_names_alone(tmp_path: Path) -> None:
    from cryptography import x509

    for hosts, names, networks in (
        (HOSTS, ["platform.example", "localhost"], ["127.0.0.1/32"]),
        (["p.example"], ["p.example"], ["0.0.0.0/32"]),
        (["::1"], ["invalid"], ["::1/128"]),
    ):
        folder = tmp_path / hosts[0]
        folder.mkdir()
        write_https_certificate(folder, hosts, name="service")
        authority = x509.load_pem_x509_certificate((folder / AUTHORITY_FILE).read_bytes())
        found = authority.extensions.get_extension_for_class(x509.NameConstraints)
        permitted = found.value.permitted_subtrees or []
        assert found.critical
        assert [str(each.value) for each in permitted] == [*names, *networks]


def test_which_hosts_it_is_for() -> None:
    assert https_hosts("10.0.0.7:8443", "https://P.example:8443", ["bücher.example"]) == [
        *("p.example", "xn--bcher-kva.example", "10.0.0.7")
    ]
    everywhere = https_hosts("0.0.0.0:8443", "https://p.example")
    assert "0.0.0.0" not in everywhere
    assert {"p.example", "localhost", "127.0.0.1", "::1"} < {*everywhere}
    for wrong in ("a b", "p.example:8443", "*.example", "https://p.example", ""):
        with pytest.raises(InputError, match="give a name or an IP address"):
            https_hosts("127.0.0.1:1", "https://p.example", [wrong])
    with pytest.raises(InputError, match="write https://host:port"):
        https_hosts("127.0.0.1:1", "p.example")


def test_a_rotation_keeps_both_authorities_until_its_end(tmp_path: Path) -> None:
    certificate, key = tmp_path / "service.pem", tmp_path / "service.tls.key"
    write_https_certificate(tmp_path, HOSTS, name="service")
    assert is_own_https(certificate)
    rotated = Rotated(certificate, key, https_hosts=HOSTS)
    pins = []
    for step in (rotated.prepare, rotated.switch, rotated.finish):
        step()
        pins.append(len(split_certificates(read_certificate(rotated.to_pin))))
        with served(tmp_path) as port:
            verified(tmp_path, port, HOSTS[0])
    assert pins == [2, 2, 1]
    assert certificate_hosts(read_certificate(certificate)) == HOSTS
    (tmp_path / AUTHORITY_FILE).unlink()
    assert not is_own_https(certificate), "as that of a public authority"
