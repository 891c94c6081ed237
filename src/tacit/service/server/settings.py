"""`service.toml`: where the platform listens, what it stores where, and the clusters it knows.

Paths in it are relative to the file's own folder, the one in an SQLite URL too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tacit.errors import FileError
from tacit.files import read_toml
from tacit.identity import AUTHORITY_FILE, parse_address
from tacit.plain_text import decoders_words

FILE_NAME = "service.toml"
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
    """The folder of the runs' own files: checkpoints, reports, ledgers."""
    tls_certificate: str | None = None
    tls_key: str | None = None
    invitation_hours: Positive = 72.0
    token_days: Positive = 30.0
    request_limit_mb: Positive = 16.0
    requests_per_minute: Count = 600
    """Per account."""
    anonymous_requests_per_minute: Count = 60
    """Per address, for requests without a valid token: guessing is slow."""
    connections_per_address: Count = 250
    """At a time; not behind a proxy, which has to limit them itself."""
    behind_proxy: bool = False
    """Whether a proxy on this machine passes requests on and says for whom."""
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
        """A path of the file, seen from here."""
        return Path(self.folder) / path

    @property
    def data_folder(self) -> Path:
        """The folder of the runs' own files."""
        return self.place(self.data)

    @property
    def database_url(self) -> str:
        """The database's URL with the path of an SQLite file seen from here."""
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
    names = [cluster.name for cluster in settings.cluster]
    if not names or len(set(names)) < len(names):
        raise FileError(path, "cluster", "are missing or share a name", "name each cluster apart")
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        raise FileError(path, "tls", "certificate without key or key without certificate", "both")
    mail = settings.mail
    if mail is not None and (mail.user is None) != (mail.password_file is None):
        raise FileError(path, "mail", "user without password_file or the reverse", "give both")
    if mail is not None and mail.user is not None and mail.security == "none":
        remedy = 'use security = "starttls" or "tls"'
        raise FileError(path, "mail", "the password would travel in the open", remedy)
