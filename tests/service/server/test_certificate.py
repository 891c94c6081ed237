"""The certificate that browsers see is replaced while the platform runs."""

from __future__ import annotations

import logging
import ssl

import pytest
from fastapi import FastAPI

from tacit.identity.rotation import Rotated
from tacit.mpc.transport import fingerprint, make_certificate
from tacit.service.server.serve import make_server
from tacit.service.server.settings import Settings


def shown(server: ssl.SSLContext) -> str:
    """The fingerprint of the certificate that a new connection sees, without a socket."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    dialler = client.wrap_bio(back, there)
    listener = server.wrap_bio(there, back, server_side=True)
    for each in (dialler, listener):
        with pytest.raises(ssl.SSLWantReadError):
            each.do_handshake()
    dialler.do_handshake()
    seen = dialler.getpeercert(binary_form=True)
    assert seen is not None
    return fingerprint(ssl.DER_cert_to_PEM_cert(seen))


def test_a_new_certificate_is_shown_without_a_restart(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    assert settings.tls_certificate is not None
    assert settings.tls_key is not None
    files = settings.place(settings.tls_certificate), settings.place(settings.tls_key)
    app = FastAPI()
    app.state.platform = None
    server = make_server(settings, app)
    server.config.load()
    context = server.config.ssl
    assert context is not None
    rotated = Rotated(*files, https_hosts=["127.0.0.1"])
    before = rotated.fingerprint
    assert shown(context) == before
    for step, is_new in ((rotated.prepare, False), (rotated.switch, True), (rotated.finish, True)):
        step()
        server.use_new_certificate(context)  # type: ignore[attr-defined]
        assert (shown(context) != before) is is_new

    files[0].write_text("half a file")
    server.use_new_certificate(context)  # type: ignore[attr-defined]
    assert shown(context) != before
    files[0].write_text(make_certificate("service", days=5)[0])
    with caplog.at_level(logging.WARNING):
        server.warn_of_expiry(files[0])  # type: ignore[attr-defined]
    assert "the certificate of the platform's website expires in 5 days" in caplog.text
