"""Mistakes in options are said before anything is computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.cli.experiment import require_extra
from tacit.cli.solve_options import check_writable
from tacit.errors import InputError, TacitError


def test_a_result_that_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    check_writable(tmp_path / "result.json")
    with pytest.raises(InputError, match="there is no folder no-folder; create it"):
        check_writable(Path("no-folder/result.json"))
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        check_writable(tmp_path)


def test_a_missing_library_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(TacitError, match=r"run pip install 'tacit\[experiments\]'"):
        require_extra("no_such_library")
