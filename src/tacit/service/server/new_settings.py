"""A new platform: `service.toml` with every key and what it is for, and a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tacit.errors import FileError
from tacit.files import writing
from tacit.identity import (
    AUTHORITY_FILE,
    https_hosts,
    parse_address,
    write_https_certificate,
)
from tacit.service.server.settings import FILE_NAME

_HIDDEN = ("/home", "/root", "/run/user")
"""What a unit with ProtectHome does not see."""

_HEAD = """\
# The platform. Every key is here, with its default where there is one; docs/configuration.md has
# more on each. Paths are relative to this file's folder. A change counts from the next start.
listen = {listen}
# Where participants and browsers find the platform; its certificate is for this host, and what
# participants sign to join names it.
url = {url}
# Or "postgresql+psycopg://tacit@db.example/tacit", with the password in ~/.pgpass.
database = {database}
data = {data}  # the runs' own files: checkpoints, reports, ledgers
# What browsers see; both or neither. Participants and browsers get {authority}, which signed it.
tls_certificate = "service.pem"
tls_key = "service.tls.key"
invitation_hours = 72.0  # how long an invitation is valid
token_days = 30.0  # how long a token is valid
request_limit_mb = 16.0  # body of runs and submissions
requests_per_minute = 600  # per account
anonymous_requests_per_minute = 60  # per address, for requests without a valid token
connections_per_address = 250  # at a time; not counted with behind_proxy
behind_proxy = false  # true: a proxy on this machine sets X-Forwarded-For
webhooks_over_http = false  # true: webhooks may have addresses without encryption
webhooks_to_private_addresses = false  # true: webhooks may call into the platform's own network
# webhooks_ca = "company.pem": an authority whose certificates webhooks may show, too.
# [mail] says by which server mail is sent; without it none is (docs/configuration.md).
"""
_CLUSTER = """
[[cluster]]
name = {name}
file = {file}  # written by tacit cluster join, or new
slots = 4  # runs at a time
"""


def write_settings(
    folder: Path,
    /,
    *,
    clusters: Sequence[Path],
    listen: str,
    url: str | None = None,
    hosts: Sequence[str] = (),
    data: Path | None = None,
) -> Path:
    """Write a new `service.toml` with a certificate for its hosts; `data` is where it stores."""
    host, port = parse_address(listen)
    shown = f"[{host}]" if ":" in host else host
    url = url or f"https://{shown}:{port}"
    names = https_hosts(listen, url, hosts)
    path = folder / FILE_NAME
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists():
        raise FileError(path, None, "exists already", "give a new folder")
    with writing(path):
        write_https_certificate(folder, names, name="service")
        path.write_text(
            settings_text(listen, url, [_from(folder, each) for each in clusters], data=data)
        )
    return path


def settings_text(
    listen: str, url: str, clusters: Sequence[str], /, *, data: Path | None = None
) -> str:
    """`service.toml` with every key."""
    text = _HEAD.format(
        listen=_quoted(listen),
        url=_quoted(url),
        database=_quoted(f"sqlite:///{data / 'tacit.db' if data else 'tacit.db'}"),
        data=_quoted(str(data / "data") if data else "data"),
        authority=AUTHORITY_FILE,
    )
    for number, file in enumerate(clusters, start=1):
        name = "cluster" if len(clusters) == 1 else f"cluster-{number}"
        text += _CLUSTER.format(name=_quoted(name), file=_quoted(file))
    return text


def hidden_from_a_unit(path: Path, /) -> bool:
    """Whether a service under systemd with ProtectHome could not read a file."""
    whole = path.absolute()
    return any(whole.is_relative_to(each) for each in _HIDDEN)


def _from(folder: Path, file: Path) -> str:
    """A path inside the folder stays right when the folder moves."""
    whole, base = file.absolute(), folder.absolute()
    return str(whole.relative_to(base) if whole.is_relative_to(base) else whole)


def _quoted(text: str) -> str:
    # A JSON string is a TOML basic string.
    return msgspec.json.encode(text).decode()
