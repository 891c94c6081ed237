"""Images and releases are others' work too, and come with the notices that it asks for."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from release.locks import ROOT, lock_file, read_lock
from release.notices import NoNoticeError, Package, notices, read_package

PARTS = ("node", "participant", "platform")


@pytest.fixture(scope="module")
def installed() -> list[Package]:
    """The packages of the lock files, as they are installed here; Windows has others besides."""
    found = []
    for name in {each.name for part in PARTS for each in read_lock(lock_file(part).read_text())}:
        try:
            found.append(read_package(distribution(name)))
        except PackageNotFoundError:
            continue
    return found


def test_everything_that_asks_for_it_is_named_in_our_own_notice(installed: list[Package]) -> None:
    asking = {each.name for each in installed if each.asks}
    assert {"psycopg", "psycopg-binary", "certifi"} <= asking
    text = (ROOT / "NOTICE").read_text()
    assert [name for name in sorted(asking) if name not in text] == []
    libraries = [line for each in installed for line in each.bundled if ": " in line]
    named = {line.partition("/")[2].partition("-")[0].partition(".")[0] for line in libraries}
    assert named <= {"libquadmath", "libgfortran", "libkeyutils", "libcrypt"}


def test_every_package_has_a_license_a_source_and_the_text(installed: list[Package]) -> None:
    for each in installed:
        assert each.files, each.name
        assert each.source.startswith("https://pypi.org/project/")
    text = notices(installed, where="/opt/tacit")
    told, everything = text.split("ALL PACKAGES")
    (psycopg,) = (each for each in installed if each.name == "psycopg")
    for part in (told, everything):
        assert f"psycopg {psycopg.version}: LGPL-3.0-only" in part
        assert psycopg.files[0] in part
    assert "numpy" not in told.split("Shared libraries")[0]
    for words in ("GNU LESSER GENERAL PUBLIC LICENSE", "GNU GENERAL PUBLIC LICENSE"):
        assert words in everything


def test_what_may_not_be_passed_on_like_this_is_refused() -> None:
    """A package whose text is missing, or that says nothing, stops the build of an image."""
    for license in ("LGPL-3.0-only", "MPL-2.0 AND MIT", "GNU Lesser General Public License"):
        package = Package("x", "1", license, "https://x", (), ())
        with pytest.raises(NoNoticeError, match="has no text of its license"):
            notices([package], where="here")
    with pytest.raises(NoNoticeError, match="names no license"):
        notices([Package("x", "1", "", "https://x", (), ())], where="here")


@pytest.mark.processes
def test_an_environment_writes_its_own(tmp_path: Path) -> None:
    """As images do it: without anything of ours on the path."""
    out, file = tmp_path / "NOTICES.txt", ROOT / "release" / "notices.py"
    done = subprocess.run(
        [sys.executable, "-P", str(file), str(out)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "psycopg (LGPL-3.0-only)" in done.stdout
    assert "THIRD-PARTY NOTICES" in out.read_text()
    assert not re.search(r"^tacit ", out.read_text().split("ALL PACKAGES")[1], re.MULTILINE)


def test_each_image_gets_its_notices_after_its_packages() -> None:
    """What they say is checked in the images themselves (`make deploy-test`)."""
    text = (ROOT / "deploy" / "Containerfile").read_text()
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]
    made = {stage.split()[2]: stage for stage in stages if "deploy/lock/node.txt" in stage
            or "deploy/lock/platform.txt" in stage}  # fmt: skip
    assert made.keys() == {"build-node", "build-platform"}
    for stage in made.values():
        packages = stage.index("--require-hashes -r deploy/lock/")
        assert stage.index("release/notices.py /opt/tacit/THIRD-PARTY-NOTICES.txt") > packages
