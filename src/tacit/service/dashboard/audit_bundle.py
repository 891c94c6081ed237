"""An audit bundle: what it takes to check a run that has ended, as one ZIP file.

::

    agreement.json      what was signed, byte for byte
    result.json         the result as the platform shows it
    ledger.jsonl        everything that the nodes disclosed, one entry per line
    logs/node-0.jsonl   each node's log, byte for byte
    logs.json           how the nodes signed their logs, and which boxes participants sealed
    public.json         the weights of public objectives
"""

from __future__ import annotations

import io
import json
import secrets
import zipfile
from base64 import b64decode
from dataclasses import dataclass
from typing import Any

from tacit.service.dashboard.api_client import ApiClient

MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Bundle:
    """What is in a bundle."""

    agreement: bytes
    result: dict[str, Any]
    ledger: bytes
    logs: dict[int, bytes]
    signed: dict[str, Any]
    """The nonce, per node its seconds and its signature, and the manifests."""
    public: dict[str, list[list[int]]]

    def packed(self) -> bytes:
        """As a ZIP file."""
        files = {
            "agreement.json": self.agreement,
            "result.json": _json(self.result),
            "ledger.jsonl": self.ledger,
            "logs.json": _json(self.signed),
            "public.json": _json(self.public),
            **{f"logs/node-{node}.jsonl": log for node, log in self.logs.items()},
        }
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in sorted(files.items()):
                archive.writestr(name, data)
        return packed.getvalue()


def unpacked(data: bytes, /) -> Bundle:
    """Read a bundle that this platform has packed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(each.file_size for each in archive.infolist()) > MOST_BYTES:
            raise ValueError("the bundle is too large")
        files = {name: archive.read(name) for name in archive.namelist()}
    signed = json.loads(files["logs.json"])
    return Bundle(
        agreement=files["agreement.json"],
        result=json.loads(files["result.json"]),
        ledger=files["ledger.jsonl"],
        logs={each["node"]: files[f"logs/node-{each['node']}.jsonl"] for each in signed["logs"]},
        signed=signed,
        public=json.loads(files["public.json"]),
    )


async def fetch_bundle(api: ApiClient, run_id: str, /) -> Bundle:
    """Put a bundle together, with the right of whoever asks."""
    path = f"/runs/{run_id}"
    agreement = (await api.fetch(f"{path}/agreement")).content
    result = await api.get(f"{path}/result")
    # The ledger comes first: whatever it has must then be in the logs.
    ledger = (await api.fetch(f"{path}/ledger")).content
    nonce = secrets.token_hex(32)
    answer = await api.post(f"{path}/logs", {"nonce": nonce})
    heads = ("node", "seconds", "signature")
    return Bundle(
        agreement=agreement,
        result=result,
        ledger=ledger,
        logs={each["node"]: b64decode(each["log"]) for each in answer["logs"]},
        signed={
            "nonce": nonce,
            "logs": [{name: each[name] for name in heads} for each in answer["logs"]],
            "manifests": answer["manifests"],
        },
        public=(await api.get(f"{path}/public-weights"))["objectives"],
    )


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"
