"""The platform's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import FileError
from tacit.service.server.settings import load_settings, write_settings

GOOD = 'url = "https://p"\n[[cluster]]\nname = "t"\nfile = "c.toml"\n'


def test_what_is_written_can_be_read_and_is_never_overwritten(tmp_path: Path) -> None:
    path = write_settings(
        tmp_path, clusters=[Path("a.toml"), Path("b.toml")], listen="[::1]:9", url=None
    )
    settings = load_settings(path)
    assert settings.url == "https://[::1]:9"
    assert [cluster.name for cluster in settings.cluster] == ["cluster-1", "cluster-2"]
    assert settings.database_url == f"sqlite:///{tmp_path}/tacit.db"
    with pytest.raises(FileError, match="exists already"):
        write_settings(tmp_path, clusters=[Path("a.toml")], listen="h:1", url=None)


def test_other_databases_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text('database = "postgresql+psycopg://u@h/d"\n' + GOOD)
    assert load_settings(path).database_url == "postgresql+psycopg://u@h/d"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("url = ", "is not TOML"),
        ('url = "u"\ncluster = []\n', "name each cluster apart"),
        ("unknown = 1\n" + GOOD, "unknown"),
        ('listen = "here"\n' + GOOD, "is not an address"),
        ("token_days = 0\n" + GOOD, "token_days"),
        ("token_days = nan\n" + GOOD, "token_days"),
        ('tls_key = "k"\n' + GOOD, "certificate"),
        (GOOD + "slots = 0\n", "slot"),
        ('proxies = ["10.0.0.0/33"]\n' + GOOD, "which is no address"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "service.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=said):
        load_settings(path)
