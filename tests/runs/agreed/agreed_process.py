"""A run from an agreement in a process of its own, to be killed: `python -m ... FOLDER SECONDS`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from tacit.engine.agreement.terms import read_agreement
from tacit.engine.identity.config import load_cluster_config
from tacit.runs.agreed import Agreed, AgreedRun


class Stored(msgspec.Struct):
    agreement: bytes
    signatures: dict[str, bytes]
    manifests: dict[int, list[bytes]]
    cluster: str


def open_run(folder: Path) -> AgreedRun:
    stored = msgspec.msgpack.decode((folder / "agreed").read_bytes(), type=Stored)
    agreed = Agreed(
        agreement=read_agreement(stored.agreement),
        signatures=stored.signatures,
        manifests=stored.manifests,
    )
    return AgreedRun(agreed, load_cluster_config(Path(stored.cluster)), folder)


def main(folder: Path, seconds: float) -> None:
    with open_run(folder) as run:
        print("ready", flush=True)
        print(run.to_its_limits(until=time.monotonic() + seconds).value, flush=True)
        run.save()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
