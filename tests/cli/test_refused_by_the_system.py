"""What the system refuses in the middle of a command is said in one line."""

from __future__ import annotations

import errno

import pytest

from tests.conftest import RunTacit


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "/root/x"),
            "tacit: /root/x: Permission denied; use a file or folder that you may use, or have "
            "its owner let you\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "tacit: No space left on device; make room on the disk\n",
        ),
    ],
)
def test_the_system_says_no(
    run_here: RunTacit, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tacit.cli.instance.load_problem", refuse)
    done = run_here("instance", "show", "kroD100")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_ctrl_c_is_said_in_one_line(run_here: RunTacit, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.cli.instance.load_problem", interrupt)
    done = run_here("instance", "show", "kroD100")
    assert (done.returncode, done.stderr) == (130, "tacit: interrupted before it was done\n")
