"""What is missing, or not encrypted, is said with what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.client import checked_url
from tacit.errors import FileError, InputError
from tacit.participant import find_key_file, join, load_profile

NOWHERE = Path("no-such-folder")


def test_a_folder_without_keys_or_profile_says_which_command_makes_them() -> None:
    with pytest.raises(FileError, match="run tacit participant keys new NAME first"):
        find_key_file(NOWHERE)
    with pytest.raises(FileError, match="run tacit participant keys new NAME first"):
        join("https://platform.example", "code", profile=NOWHERE)
    with pytest.raises(FileError, match="run tacit participant join with your invitation"):
        load_profile(NOWHERE)


def test_a_token_never_travels_unencrypted() -> None:
    assert checked_url("https://platform.example:8443/") == "https://platform.example:8443"
    with pytest.raises(InputError, match="is not encrypted, and your token would travel"):
        checked_url("http://platform.example")
    with pytest.raises(InputError, match="write https://host:port"):
        checked_url("ftp://platform.example")
