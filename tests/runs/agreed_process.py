"""A process that runs an agreed search, to be killed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tacit.agreement.terms import read_agreement
from tacit.identity.config import load_cluster_config
from tacit.runs.agreed import Agreed, AgreedEvaluating, agreed_driver
from tacit.runs.driver import drive


class Stored(msgspec.Struct):
    agreement: bytes
    signatures: dict[str, bytes]
    manifests: dict[int, list[bytes]]
    cluster: str


@contextmanager
def open_run(folder: Path) -> Iterator[AgreedEvaluating]:
    stored = msgspec.msgpack.decode((folder / "agreed").read_bytes(), type=Stored)
    agreed = Agreed(
        agreement=read_agreement(stored.agreement),
        signatures=stored.signatures,
        manifests=stored.manifests,
    )
    with agreed_driver(agreed, load_cluster_config(Path(stored.cluster)), folder) as driver:
        assert isinstance(driver, AgreedEvaluating)
        yield driver


def main(folder: Path, seconds: float) -> None:
    with open_run(folder) as driver:
        print("ready", flush=True)
        print(drive(driver, until=time.monotonic() + seconds).value, flush=True)
        driver.checkpoint()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
