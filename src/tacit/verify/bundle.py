"""An audit bundle: all that it takes to check a run that has ended, in one ZIP file.

::

    bundle.json         run, state, signatures, manifests, and how the nodes signed their logs
    agreement.json      what was signed, byte for byte
    result.json         the result as the platform shows it
    ledger.jsonl        everything that the nodes disclosed, one entry per line
    logs/node-0.jsonl   each node's log, byte for byte
    public.json         the weights of public objectives, where there are some

The nodes sign the heads of their logs for a nonce that follows from the agreement, so that two
bundles of one run can be the same. A bundle is therefore as new as the seconds in it say, and no
newer. Whoever needs to know that nothing was added since asks for the logs with a nonce of its own.
"""

from __future__ import annotations

import hashlib
import io
import struct
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np

from tacit.agreement import Agreement, check_signatures, read_agreement
from tacit.derived import with_public_weights
from tacit.errors import AgreementError, LogError
from tacit.files import other_version
from tacit.problems import Problem
from tacit.records import Log, check_log, read_ledger
from tacit.verify.claims import Claim, ClaimedResult, read_claimed
from tacit.verify.logs import check_evidence, describe_loss
from tacit.verify.verdict import Finding, Verdict, check_inputs, check_run

FORMAT: Literal["tacit-bundle/1"] = "tacit-bundle/1"
MOST_BYTES = 1 << 30
"""Unpacked, of all files in it: a small file could unpack to more than there is room for."""
MOST_TIMES = 200
"""As large as the file itself; what was written here shrinks to a tenth at most."""
ROOM_BYTES = 16 << 20
"""A small file may unpack to so much anyway."""
MOST_NODES = 4
MOST_FILES, DIRECTORY_BYTES = 5 + MOST_NODES, 1 << 16
_END, _END_FORMAT = b"PK\x05\x06", "<4s4H2LH"
_EPOCH = (1980, 1, 1, 0, 0, 0)


class LogSignature(msgspec.Struct, frozen=True):
    """How a node signed the head of its log."""

    node: int
    seconds: int
    signature: str


class BundledManifest(msgspec.Struct, frozen=True):
    """Which boxes a participant sealed for an objective."""

    participant: str
    objective: int
    manifest: str
    signature: str


class _BundleHead(msgspec.Struct, frozen=True, kw_only=True):
    format: Literal["tacit-bundle/1"] = FORMAT
    run: str
    state: str
    signatures: dict[str, str]
    logs: list[LogSignature]
    manifests: list[BundledManifest]


@dataclass(frozen=True)
class Bundle:
    """What is in a bundle."""

    run: str
    state: str
    agreement: bytes
    signatures: dict[str, str]
    """Per participant, its signature under the agreement."""
    logs: dict[int, bytes]
    log_signatures: list[LogSignature]
    manifests: list[BundledManifest]
    ledger: bytes
    result: bytes
    """As JSON."""
    public: dict[int, list[list[int]]] = field(default_factory=dict)

    @property
    def nonce(self) -> bytes:
        return bundle_nonce(self.agreement)

    def claimed(self) -> ClaimedResult:
        return read_claimed(self.result)


_HEAD = msgspec.json.Decoder(_BundleHead)
_PUBLIC = msgspec.json.Decoder(dict[int, list[list[int]]])


def bundle_nonce(agreement: bytes, /) -> bytes:
    """Return the nonce for the logs of this agreement, which nobody can choose."""
    return hashlib.sha256(FORMAT.encode() + b"\n" + hashlib.sha256(agreement).digest()).digest()


def write_bundle(bundle: Bundle, /) -> bytes:
    """Write a bundle as a ZIP file: the same bytes for the same bundle."""
    head = _BundleHead(
        run=bundle.run,
        state=bundle.state,
        signatures=bundle.signatures,
        logs=bundle.log_signatures,
        manifests=bundle.manifests,
    )
    files = {
        "bundle.json": _json(head),
        "agreement.json": bundle.agreement,
        "result.json": bundle.result,
        "ledger.jsonl": bundle.ledger,
        **{f"logs/node-{node}.jsonl": log for node, log in bundle.logs.items()},
    }
    if bundle.public:
        files["public.json"] = _json({str(k): rows for k, rows in bundle.public.items()})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in sorted(files):
            # A fixed date, so that the same bundle has the same bytes.
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            archive.writestr(entry, files[name], compresslevel=6)
    return packed.getvalue()


def _json(value: Any) -> bytes:  # noqa: ANN401 - whatever msgspec can write
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1) + b"\n"


def _head(data: bytes) -> _BundleHead:
    # Said before anything else is decoded, which would fail with less clear words.
    if other := other_version(data, FORMAT):
        raise LogError(f"this audit bundle {other}")
    return _HEAD.decode(data)


def read_bundle(data: bytes, /) -> Bundle:
    """Read a bundle, which anybody may have made."""
    try:
        _check_directory(data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = _Unpacking(archive, most=min(MOST_BYTES, MOST_TIMES * len(data) + ROOM_BYTES))
            head = _head(files.entry("bundle.json"))
            nodes = [each.node for each in head.logs]
            _check_nodes(nodes)
            public = files.entry("public.json") if "public.json" in archive.namelist() else b"{}"
            bundle = Bundle(
                run=head.run,
                state=head.state,
                agreement=files.entry("agreement.json"),
                signatures=head.signatures,
                logs={node: files.entry(f"logs/node-{node}.jsonl") for node in nodes},
                log_signatures=head.logs,
                manifests=head.manifests,
                ledger=files.entry("ledger.jsonl"),
                result=files.entry("result.json"),
                public=_PUBLIC.decode(public),
            )
            bundle.claimed()
            return bundle
    except (*_NOT_ONE, msgspec.DecodeError, LookupError, RecursionError) as error:
        raise LogError(f"this is not an audit bundle ({error}); fetch it again") from None
    except (NotImplementedError, RuntimeError, ValueError) as error:
        raise LogError(f"this bundle cannot be unpacked ({error}); fetch it again") from None


_NOT_ONE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError)
"""What unpacking raises where bytes were changed."""


def _check_directory(data: bytes) -> None:
    """Refuse an archive of many files before its directory is read, which takes memory for each."""
    at = data.rfind(_END)
    if at < 0 or len(data) < at + struct.calcsize(_END_FORMAT):
        raise zipfile.BadZipFile("it has no directory")
    entries, size = struct.unpack_from(_END_FORMAT, data, at)[4:6]
    # The larger format of ZIP has the largest numbers here, and is not needed for any bundle.
    if entries > MOST_FILES or size > DIRECTORY_BYTES:
        raise ValueError(f"it has more than {MOST_FILES} files")


def _check_nodes(nodes: Sequence[int]) -> None:
    if len(nodes) > MOST_NODES:
        raise ValueError(f"it has logs of {len(nodes)} nodes, and no run has more than four")
    if len(set(nodes)) < len(nodes):
        raise ValueError("it names a node twice")


_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


class _Unpacking:
    """The files of a bundle, as long as all that was read has room."""

    def __init__(self, archive: zipfile.ZipFile, /, *, most: int) -> None:
        self._archive, self._left = archive, most
        entries = archive.infolist()
        # Readers would disagree about which of two files of one name counts.
        if len({each.filename for each in entries}) < len(entries):
            raise ValueError("it has two files of one name")
        # Other methods than ours shrink what repeats without any bound.
        if any(each.compress_type not in _METHODS for each in entries):
            raise ValueError("it is packed in another way than bundles are")

    def entry(self, name: str, /) -> bytes:
        # What a file says of its own size need not be true.
        if self._archive.getinfo(name).file_size <= self._left:
            with self._archive.open(name) as file:
                data = file.read(self._left + 1)
            self._left -= len(data)
            if self._left >= 0:
                return data
        raise ValueError(f"it is too large, at the latest with {name}")


# The check of a bundle, without any account: for auditors, and for whoever finds it in an archive.


def _check_signed(bundle: Bundle, agreement: Agreement) -> str:
    signatures = {who: bytes.fromhex(each) for who, each in bundle.signatures.items()}
    try:
        check_signatures(agreement, signatures)
    except AgreementError as error:
        raise LogError(f"not everybody signed the agreement: {error}") from None
    names = ", ".join(each.name for each in agreement.participants)
    return f"the agreement is signed by {names}, with the keys that it names"


def check_bundle(bundle: Bundle, /) -> Verdict:
    """Check that everybody did what was signed, as far as a bundle shows.

    The keys of nodes and participants are those that the agreement names. Whose they are is to be
    compared with their owners: a bundle that somebody made up has keys that are nobody's.
    """
    try:
        agreement = read_agreement(bundle.agreement)
    except AgreementError as error:
        raise LogError(f"the bundle has no agreement that can be read: {error}") from None
    verdict = Verdict(bundle.run, bundle.state)
    verdict.findings.append(Finding.of("signatures", _check_signed, bundle, agreement))
    logs = bundled_logs(bundle, agreement, verdict)
    # With fewer verified logs the rest could not be proven, and would only look as if.
    if len(logs) == len(agreement.nodes):
        check_rest(bundle, agreement, logs, verdict, participant="", own={}, claim=claim_of(bundle))
    return verdict


def claim_of(bundle: Bundle, /) -> Claim:
    return bundle.claimed().claim()


def bundled_logs(bundle: Bundle, agreement: Agreement, verdict: Verdict, /) -> list[Log]:
    """Return the logs that are whole, of this agreement, and signed by their nodes."""
    by_node = {each.node: each for each in bundle.log_signatures}
    logs: list[Log] = []

    def verify(node: int) -> str:
        if node not in by_node:
            raise LogError(f"the bundle has no log of node {node}; ask the operator for it")
        signed = by_node[node]
        try:
            events = check_log(
                agreement,
                node,
                bundle.logs[node],
                nonce=bundle.nonce,
                seconds=signed.seconds,
                signature=bytes.fromhex(signed.signature),
            )
        except LogError as error:
            raise LogError(f"node {node}: {error}") from None
        logs.append(events)
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(signed.seconds))
        return f"node {node}: {len(events)} lines, unbroken, signed on {when} UTC"

    for node in range(len(agreement.nodes)):
        verdict.findings.append(Finding.of(f"log of node {node}", verify, node))
    return logs


def check_rest(
    bundle: Bundle,
    agreement: Agreement,
    logs: list[Log],
    verdict: Verdict,
    /,
    *,
    participant: str,
    own: Mapping[int, list[bytes]],
    claim: Claim,
) -> None:
    """Check what verified logs show: inputs, search, answers, plan."""
    manifests = {
        (each.participant, each.objective): (each.manifest, each.signature)
        for each in bundle.manifests
    }
    found = verdict.findings
    found.append(Finding.of("inputs", check_inputs, agreement, logs, manifests, participant, own))
    try:
        ledger = read_ledger(bundle.ledger)
        public = _public_problem(bundle, agreement)
    except (AgreementError, LogError) as error:
        found.append(Finding("answers", False, str(error)))
        return
    found.extend(check_run(agreement, logs, ledger, claim, public=public))
    proven = Finding.of("evidence", check_evidence, agreement, logs)
    if not proven.ok:
        found.append(proven)
    elif proven.detail:
        verdict.notes.append(proven.detail)
    if words := describe_loss(logs):
        verdict.notes.append(words)


def _public_problem(bundle: Bundle, agreement: Agreement) -> Problem:
    if len(agreement.confidential()) == len(agreement.objectives):
        return agreement.known_problem
    try:
        found = {k: np.array(rows, dtype=np.int64) for k, rows in bundle.public.items()}
    except (ValueError, OverflowError) as error:
        raise LogError(f"the bundle lacks the public weights ({error}); fetch it again") from None
    return with_public_weights(agreement, found)
