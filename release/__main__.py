"""`make release`: wheel, sdist, bills of materials, hashes, notices, an audit, each extra tried."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from release.audit import audit, report
from release.build import NotReproducibleError, build_twice, committed
from release.fit import misfits, wanted
from release.installs import NotInstallableError, try_installs, version_of
from release.locks import LOCKED, ROOT, lock_file, read_lock
from release.sbom import bill_of_materials

PARTS = ("node", "participant", "platform")
"""What people install; the tools of a build are no part of it."""


def main() -> int:
    """Make everything anew in dist/; 1 if builds differ, an extra fails, or it is vulnerable."""
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    wrong = [
        f"{name}: {each}"
        for name in LOCKED
        for each in misfits(read_lock(lock_file(name).read_text()), wanted(name))
    ]
    if wrong:
        print(f"no release: {'; '.join(wrong)}. Run make lock", file=sys.stderr)
        return 1
    version = version_of()
    archive, epoch = committed(ROOT)
    try:
        made = build_twice(archive, ROOT / "build" / "release", out, epoch=epoch)
    except NotReproducibleError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    print(f"built twice with the same bytes: {', '.join(path.name for path in made)}")
    for part in PARTS:
        packages = read_lock(lock_file(part).read_text())
        bill = out / f"tacit-{version}-{part}.cdx.json"
        bill.write_text(bill_of_materials(packages, what=part, version=version, epoch=epoch))
        made += [bill, Path(shutil.copy(lock_file(part), out / f"tacit-{version}-{part}.lock.txt"))]
    made.append(Path(shutil.copy(lock_file("build"), out / f"tacit-{version}-build.lock.txt")))
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(made)
    ]
    (out / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    print(f"{len(made)} files in dist/, with SHA256SUMS")
    wheel = next(path for path in made if path.suffix == ".whl")
    try:
        try_installs(wheel, ROOT / "build" / "installs", out, version=version, say=print)
    except NotInstallableError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    answers = {name: audit(lock_file(name)) for name in LOCKED}
    # Not among the sums: it says what was known on a day, and can be made again on another.
    said = report(answers, sums=(out / "SHA256SUMS").read_bytes())
    (out / f"tacit-{version}-audit.txt").write_text(said)
    print(said, end="")
    return int(any(each.vulnerable for each in answers.values()))


if __name__ == "__main__":
    sys.exit(main())
