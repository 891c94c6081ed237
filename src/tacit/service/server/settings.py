"""Read `service.toml`, or write a new one with every key and a certificate."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tacit.errors import FileError
from tacit.files import create_secret, read_toml, writing
from tacit.identity import (
    AUTHORITY_FILE,
    Rotated,
    https_hosts,
    is_own_https,
    parse_address,
    read_certificate,
    write_https_certificate,
)
from tacit.mpc.transport import certificate_hosts
from tacit.names import check_label
from tacit.plain_text import decoders_words

FILE_NAME = "service.toml"
WEBHOOKS_KEY, WEBHOOKS_KEY_BYTES = "webhooks.key", 32
"""A file beside `service.toml`, so that all hosts of a platform have the same."""
_SQLITE = "sqlite:///"
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class ClusterSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Three or four nodes that belong together, and how many runs they take at a time."""

    name: str
    file: str
    """The path of their `cluster.toml`."""
    slots: Count = 4


class MailSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The server that takes the platform's mail."""

    host: str
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: Annotated[str, msgspec.Meta(pattern=r"^[^@\s<>]+@[^@\s<>]+$")]
    """The address that mail comes from."""
    user: str | None = None
    password_file: str | None = None
    """The path of a file with the password, readable by its owner alone."""
    ca: str | None = None
    """The server's certificate or its authority's, where computers do not trust it anyway."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything the platform needs to know before it starts."""

    listen: str = "127.0.0.1:8443"
    url: str
    """Where participants and browsers find the platform."""
    database: str = "sqlite:///tacit.db"
    data: str = "data"
    """The folder of records that `tacit service record` writes; all else is in the database."""
    tls_certificate: str | None = None
    tls_key: str | None = None
    invitation_hours: Positive = 72.0
    token_days: Positive = 30.0
    request_limit_mb: Positive = 16.0
    mb_per_minute: Positive = 64.0
    """What one account may send."""
    requests_per_minute: Count = 600
    """Per account."""
    anonymous_requests_per_minute: Count = 60
    """Per address, for requests without a valid token: guessing is slow."""
    connections_per_address: Count = 250
    """At a time; not behind a proxy, which has to limit them itself."""
    behind_proxy: bool = False
    """Whether a proxy passes requests on and says for whom."""
    proxies: list[str] = msgspec.field(default_factory=lambda: ["127.0.0.1", "::1"])
    """The addresses, or networks, of such proxies."""
    worker_metrics: str = ""
    """Where Prometheus finds the figures of a worker, such as "127.0.0.1:9101"; nowhere if empty.
    An API, and a platform in one process, have theirs at `/api/v1/metrics`."""
    mail: MailSettings | None = None
    """Without it no mail is sent."""
    webhooks_over_http: bool = False
    """Whether webhooks may have addresses without encryption."""
    webhooks_to_private_addresses: bool = False
    """Whether webhooks may call into the platform's own network."""
    webhooks_ca: str | None = None
    """The path of an authority's certificate that webhooks may show too, such as a company's."""
    cluster: list[ClusterSettings]
    folder: str = "."

    def place(self, path: str, /) -> Path:
        """Resolve a path of the file, which is relative to the file's folder."""
        return Path(self.folder) / path

    @property
    def data_folder(self) -> Path:
        return self.place(self.data)

    @property
    def database_url(self) -> str:
        """The database's URL, with the resolved path of an SQLite file."""
        if self.database.startswith(_SQLITE):
            return _SQLITE + str(self.place(self.database.removeprefix(_SQLITE)).absolute())
        return self.database

    @property
    def certificate_to_pin(self) -> Path | None:
        """What participants give as `--ca` and browsers import: the authority, if it is ours."""
        if self.tls_certificate is None:
            return None
        shown = self.place(self.tls_certificate)
        authority = shown.with_name(AUTHORITY_FILE)
        return authority if authority.exists() else shown

    @property
    def is_https(self) -> bool:
        """Whether browsers see HTTPS, from the platform or from a proxy."""
        return self.tls_certificate is not None or self.url.startswith("https:")


def load_settings(path: Path, /) -> Settings:
    """Read the platform's file."""
    table = read_toml(path, remedy="make it with tacit service init")
    try:
        settings = msgspec.convert({**table, "folder": str(path.parent)}, type=Settings)
    except msgspec.ValidationError as error:
        what = decoders_words(error)
        raise FileError(path, None, what, "compare it with docs/configuration.md") from None
    _check(settings, path)
    return settings


def _check(settings: Settings, path: Path) -> None:
    parse_address(settings.listen)
    if settings.worker_metrics:
        parse_address(settings.worker_metrics)
    names = [cluster.name for cluster in settings.cluster]
    if not names or len(set(names)) < len(names):
        raise FileError(path, "cluster", "are missing or share a name", "name each cluster apart")
    for name in names:
        try:
            check_label(name)
        except ValueError as error:
            raise FileError(path, "cluster", str(error), "see docs/configuration.md") from None
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        raise FileError(path, "tls", "certificate without key or key without certificate", "both")
    for each in settings.proxies:
        try:
            ip_network(each, strict=False)
        except ValueError:
            what = f"has {each!r}, which is no address"
            remedy = "give addresses, or networks such as 10.0.0.0/24"
            raise FileError(path, "proxies", what, remedy) from None
    if settings.mb_per_minute < settings.request_limit_mb:
        what = "is less than request_limit_mb, so that no such request would ever get through"
        raise FileError(path, "mb_per_minute", what, "give more")
    mail = settings.mail
    if mail is not None and (mail.user is None) != (mail.password_file is None):
        raise FileError(path, "mail", "user without password_file or the reverse", "give both")
    if mail is not None and mail.user is not None and mail.security == "none":
        remedy = 'use security = "starttls" or "tls"'
        raise FileError(path, "mail", "the password would travel in the open", remedy)


def rotated_website(settings: Settings, /) -> Rotated | None:
    """The certificate that browsers see, to be rotated; None if there is none, or not ours."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    certificate, key = settings.place(settings.tls_certificate), settings.place(settings.tls_key)
    # Renewing a certificate of another authority here would replace one that browsers trust.
    if not is_own_https(certificate):
        return None
    hosts = https_hosts(
        settings.listen, settings.url, certificate_hosts(read_certificate(certificate))
    )
    return Rotated(certificate, key, https_hosts=hosts)


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
data = {data}  # records for audits; all else is in the database
# What browsers see; both or neither. Participants and browsers get {authority}, which signed it.
tls_certificate = "service.pem"
tls_key = "service.tls.key"
invitation_hours = 72.0  # how long an invitation is valid
token_days = 30.0  # how long a token is valid
request_limit_mb = 16.0  # body of drafts, submissions and uploads; of all else 64 kB
mb_per_minute = 64.0  # of all bodies of an account
requests_per_minute = 600  # per account
anonymous_requests_per_minute = 60  # per address, for requests without a valid token
connections_per_address = 250  # at a time; not counted with behind_proxy
behind_proxy = false  # true: a proxy sets X-Forwarded-For
proxies = ["127.0.0.1", "::1"]  # its addresses or networks; others are not believed
worker_metrics = ""  # Prometheus for tacit service worker, such as "127.0.0.1:9101"; empty: off
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
        if not (folder / WEBHOOKS_KEY).exists():
            create_secret(folder / WEBHOOKS_KEY, secrets.token_bytes(WEBHOOKS_KEY_BYTES))
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
