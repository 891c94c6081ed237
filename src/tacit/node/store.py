"""Read and write the folder that a node keeps for one agreement.

::

    agreement.json        the agreement, canonical
    signatures            of all participants
    inputs/O-P            sealed rows of participant P for objective O, still sealed
    contribution-O        what the node adds to the seed of the search, drawn once
    log.jsonl             the hash chain: it is also the record of all evaluation numbers
    peer-heads            how far the peers' logs have come, as they said and signed
    fence                 the highest number of a platform's process that has asked about it
    lease                 numbers that count as used after a power cut, fsynced before they are
    best-O                shares of the best fitness so far, where `improvement` is disclosed (*)
    weighted              shares of the weights times factors, in a series with equity (*)
    sealed-S-G            shares of sealed run S after step G, the last two of them (*)
    parts-S               boxes with the parts of a plan for its owners, as they are released
    evaluated-O           hashes of evaluated candidates, where the final reveal is allowed
    answers               what was disclosed, where the nodes derive the populations from it
    public-O              weights of a public objective, which the search needs for that too

(*) Encrypted under the agreement's sealing key, as the inputs are. Without that key nothing here is
secret, and the key is overwritten when the agreement has ended. Inputs, states and answers are
deleted then; the agreement, its log and the boxes of a plan for its owners stay.

An evaluation is appended to the log before it is computed. That survives the death of the process,
and costs no fsync; for power cuts there is the lease.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from nacl.encoding import RawEncoder
from nacl.hash import blake2b
from nacl.secret import SecretBox
from numpy.typing import NDArray

from tacit.agreement.sealing import CONTRIBUTION_BYTES
from tacit.agreement.terms import Agreement, agreement_hash, canonical, read_agreement
from tacit.errors import RefusedError, UnwrittenError
from tacit.files import remove_drafts, replace_secret
from tacit.identity.config import NodeConfig
from tacit.records.events import AgreementAccepted, Sent
from tacit.records.ledger import DisclosedProof, DisclosureKind, HeardBoxes
from tacit.records.node_log import NodeLog
from tacit.records.requests import Attempt, decode_attempt, encode_attempt

T = TypeVar("T")


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="stored"):
    """What all states on the disk have: a tag with a version."""


class StoredArray(msgspec.Struct, frozen=True, array_like=True):
    """An array of this node's share, as a file has it."""

    word: int
    """Bytes per word."""
    shape: tuple[int, ...]
    data: bytes


def _encode(value: object) -> object:
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value).tobytes()
        return StoredArray(value.dtype.itemsize, value.shape, data)
    return encode_attempt(value)


def _decode(kind: type, value: object) -> object:
    if kind is Attempt:
        return decode_attempt(kind, value)
    array = msgspec.convert(value, StoredArray)
    return np.frombuffer(array.data, f"<u{array.word}").reshape(array.shape)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encode)


def encode_stored(value: object, /) -> bytes:
    """The bytes that a file has of a value; shares and attempts may be part of it."""
    return _ENCODER.encode(value)


def decoder_of(kind: type[T], /) -> msgspec.msgpack.Decoder[T]:
    """Return what reads values of a type that `encode_stored` wrote."""
    return msgspec.msgpack.Decoder(kind, dec_hook=_decode)


class StoredAnswer(Stored, frozen=True, tag="answer/1"):
    """What an evaluation disclosed of an objective to a node that follows the search."""

    objective: int
    labels: list[int]
    best: int | None


_READ_ANSWER = decoder_of(StoredAnswer)


class AnswerFile:
    """What was disclosed, in its order: records with their length before each."""

    def __init__(self, path: Path, /) -> None:
        self._path = path

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._path.stat().st_size if self._path.exists() else 0

    def add(self, objective: int, labels: list[int], best: int | None, /) -> None:
        """Append an answer; where the disk is full nothing of it stays, since others follow."""
        data = encode_stored(StoredAnswer(objective, labels, best))
        # Not synced: after a power cut the peers give back what is missing here.
        with self._path.open("ab", buffering=0) as file:
            start = file.tell()
            record = len(data).to_bytes(4, "little") + data
            try:
                written = file.write(record)
            except OSError:
                written = 0
            if written != len(record):
                file.truncate(start)
                raise UnwrittenError("an answer cannot be kept; check the node's disk")

    def read(self) -> Iterator[StoredAnswer]:
        """All answers in their order; a record that a crash left incomplete is cut off."""
        if not self._path.exists():
            return
        with self._path.open("r+b") as file:
            while True:
                start = file.tell()
                size = int.from_bytes(file.read(4), "little")
                data = file.read(size)
                if not size or len(data) < size:
                    # The next answer is appended here. After half a record it could not be read.
                    file.truncate(start)
                    return
                yield _READ_ANSWER.decode(data)


LEASE = 64
"""How many evaluation numbers are set aside at a time."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class StoredLease(Stored, frozen=True, tag="lease/1"):
    """The numbers that are set aside, and since which start of the machine."""

    boot: str
    numbers: dict[int, int]


_READ_LEASE = decoder_of(StoredLease)


def boot_identity() -> str | None:
    """An identifier that changes when the machine restarts, where the system has one."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None


class NumberLease:
    """Evaluation numbers set aside on the disk before their use, so that a power cut repeats none.

    A power cut may lose the last lines of the log. The node would then answer other requests under
    the numbers that these lines used. So after a restart of the machine all numbers of the lease
    count as used. One fsync serves for many evaluations.
    """

    def __init__(self, path: Path, /) -> None:
        self._path, self._boot = path, boot_identity()
        self._lock = threading.Lock()
        self._lease = StoredLease(self._boot or "", {})
        if path.exists():
            self._lease = _READ_LEASE.decode(path.read_bytes())
        self.lost = dict(self._lease.numbers) if self._lease.boot != self._boot else {}
        """Per objective, up to where numbers count as used after a restart of the machine."""

    def left(self, objective: int, number: int, /) -> int:
        """How many numbers after this one are already set aside."""
        if self._boot is None or self._lease.boot != self._boot:
            return -1
        return self._lease.numbers.get(objective, 0) - number

    def extend(self, objective: int, number: int, /) -> None:
        """Set this number and the next ones aside, on the disk."""
        # Without a boot identity every start may be one of the machine: then no number that was
        # not used may be set aside, or each start would lose 64.
        ahead = LEASE if self._boot is not None else 0
        # Objectives extend theirs from threads, side by side, and the file is one.
        with self._lock:
            numbers = {**self.lost, **self._lease.numbers}
            numbers[objective] = max(numbers.get(objective, 0), number + ahead)
            lease = StoredLease(self._boot or "", numbers)
            replace_secret(self._path, encode_stored(lease))
            self._lease = lease


class StoredInput(Stored, frozen=True, tag="input/1"):
    """A participant's sealed rows as they were submitted."""

    manifest: bytes
    signature: bytes
    box: bytes


_READ_INPUT = decoder_of(StoredInput)


def folder_name(agreement: bytes, /) -> str:
    """The name of the folder of an agreement with this hash."""
    return agreement.hex()[:32]


def cipher_of_states(key: X25519PrivateKey, /) -> SecretBox:
    """The cipher of an agreement's states on the disk."""
    return SecretBox(blake2b(key.private_bytes_raw(), person=b"tacit states", encoder=RawEncoder))


class Store:
    """One agreement's folder. `Store.create` makes it, `Store(folder)` opens it again."""

    def __init__(self, folder: Path, /) -> None:
        self.folder = folder
        remove_drafts(folder)
        written = (folder / "agreement.json").read_bytes()
        self.agreement, self.agreement_bytes = read_agreement(written), len(written)
        self.hash = agreement_hash(self.agreement)
        self.log = NodeLog(folder / "log.jsonl")
        self.lease = NumberLease(folder / "lease")
        self.answers = AnswerFile(folder / "answers")
        self._bytes = self._measured()
        path = folder / "fence"
        self.fence = int(path.read_bytes()) if path.exists() else 0
        self._cipher: SecretBox | None = None
        """For states; none before `encrypt_states`, nor once the agreement has ended."""

    @classmethod
    def create(
        cls,
        root: Path,
        agreement: Agreement,
        signatures: dict[str, bytes],
        public: Mapping[int, NDArray[np.int64]] | None = None,
        /,
    ) -> Store:
        """Write a new agreement's folder, with the weights of its public objectives."""
        folder = root / folder_name(agreement_hash(agreement))
        (folder / "inputs").mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_secret(folder / "signatures", msgspec.msgpack.encode(signatures))
        for objective, weights in (public or {}).items():
            replace_secret(folder / f"public-{objective}", weights.astype("<i8").tobytes())
        # Last: a folder without it does not count, so a crash before leaves no half agreement.
        replace_secret(folder / "agreement.json", canonical(agreement))
        store = cls(folder)
        # The first line says whose log it is; participants believe no log without it.
        if not store.log.lines:
            store.log.append(AgreementAccepted(store.hash.hex()))
            store.log.sync()
        return store

    def _measured(self) -> int:
        apart = ("log.jsonl", "answers")
        files = (path for path in self.folder.rglob("*") if path.name not in apart)
        return sum(path.stat().st_size for path in files if path.is_file())

    @property
    def size(self) -> int:
        """Bytes that count for the platform's quota: everything that grows."""
        return self._bytes + self.log.size + self.answers.size

    def log_sent(
        self,
        kind: DisclosureKind,
        about: int,
        attempt: Attempt,
        request: bytes,
        digest: Callable[[bytes], str],
        /,
        *,
        known: DisclosedProof | HeardBoxes | None = None,
    ) -> None:
        """Log what leaves the node as its `digest` with a salt.

        Participants read the log, and without the salt they could try out which answer it was.
        """
        salt = secrets.token_bytes(16)
        event = Sent(kind, about, attempt, request.hex(), salt.hex(), digest(salt), known)
        self.log.append(event)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {each.name: place for place, each in enumerate(self.agreement.participants)}

    def _input(self, objective: int, participant: str) -> Path:
        return self.folder / "inputs" / f"{objective}-{self._places[participant]}"

    def input(self, objective: int, participant: str, /) -> StoredInput | None:
        """A participant's sealed rows, if they are there."""
        path = self._input(objective, participant)
        return _READ_INPUT.decode(path.read_bytes()) if path.exists() else None

    def inputs(self, objective: int, /) -> dict[str, StoredInput]:
        """The sealed rows that are there, by participant."""
        owners = [owner.participant for owner in self.agreement.objectives[objective].owners]
        rows = {owner: self.input(objective, owner) for owner in owners}
        return {owner: stored for owner, stored in rows.items() if stored is not None}

    def save_input(self, objective: int, participant: str, stored: StoredInput, /) -> None:
        path, data = self._input(objective, participant), encode_stored(stored)
        before = path.stat().st_size if path.exists() else 0
        replace_secret(path, data)
        self._bytes += len(data) - before

    def drop_input(self, objective: int, participant: str, /) -> None:
        """Forget rows that turned out to be unusable, so that they can be sealed again."""
        path = self._input(objective, participant)
        if path.exists():
            self._bytes -= path.stat().st_size
            path.unlink()

    def contribution(self, objective: int, /) -> bytes | None:
        """What this node adds to the seed, if it has drawn it."""
        path = self.folder / f"contribution-{objective}"
        return path.read_bytes() if path.exists() else None

    def draw_contribution(self, objective: int, /) -> bytes:
        """What this node adds to the seed, drawn once.

        It is on the disk before anybody hears a hash of it: a node that forgot it in a crash and
        drew another could not open what it is bound to.
        """
        drawn = self.contribution(objective)
        if drawn is None:
            drawn = secrets.token_bytes(CONTRIBUTION_BYTES)
            replace_secret(self.folder / f"contribution-{objective}", drawn)
        return drawn

    def save_fence(self, fence: int, /) -> None:
        replace_secret(self.folder / "fence", b"%d" % fence)
        self.fence = fence

    def save_peer_heads(self, data: bytes, /) -> None:
        replace_secret(self.folder / "peer-heads", data)

    def encrypt_states(self, key: X25519PrivateKey | None, /) -> None:
        """Encrypt states under the agreement's key; an agreement that has ended has none."""
        self._cipher = None if key is None else cipher_of_states(key)

    def erase_states(self) -> None:
        """Delete the inputs, all shares and what was disclosed.

        Inputs and shares are encrypted, and the key has been overwritten; so it is enough to
        remove them. What was disclosed is not, and a disk may keep blocks of it.
        """
        # First: a computation that ends just now must not write its state afterwards.
        self._cipher = None
        for pattern in ("inputs/*", "best-*", "weighted", "sealed-*", "answers", "evaluated-*"):
            for path in self.folder.glob(pattern):
                path.unlink()
        self._bytes = self._measured()

    def save_state(self, name: str, data: bytes, /) -> None:
        """Keep shares that the protocols need later, encrypted."""
        if self._cipher is None:
            raise RefusedError("the node", "the agreement has ended; nothing is kept of it")
        replace_secret(self.folder / name, bytes(self._cipher.encrypt(data)))

    def load_state(self, name: str, /) -> bytes:
        """A kept state; empty if there is none."""
        path = self.folder / name
        if self._cipher is None or not path.exists():
            return b""
        return self._cipher.decrypt(path.read_bytes())

    def state_names(self, prefix: str, /) -> list[str]:
        """The states that are kept under this prefix and a number."""
        return [path.name for path in self.folder.glob(f"{prefix}*[0-9]")]

    def drop_state(self, name: str, /) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def save_parts(self, search: int, data: bytes, /) -> None:
        """Keep the boxes with the parts of a plan: they are sealed once."""
        replace_secret(self.folder / f"parts-{search}", data)
        self._bytes += len(data)

    def load_parts(self, search: int, /) -> bytes | None:
        path = self.folder / f"parts-{search}"
        return path.read_bytes() if path.exists() else None

    def public_weights(self) -> dict[int, NDArray[np.int64]]:
        """The weights of all public objectives."""
        problem, weights = self.agreement.problem, {}
        for k, terms in enumerate(self.agreement.objectives):
            path = self.folder / f"public-{k}"
            if not terms.confidential and path.exists():
                flat = np.frombuffer(path.read_bytes(), dtype="<i8").astype(np.int64)
                weights[k] = flat.reshape(problem.rows, problem.columns)
        return weights

    def add_evaluated(self, objective: int, hashes: set[bytes], /) -> None:
        """Remember that these candidates were evaluated."""
        # Not synced: hashes that a power cut loses make the final reveal refuse, never allow.
        with (self.folder / f"evaluated-{objective}").open("ab") as file:
            self._bytes += file.write(b"".join(hashes))

    def were_evaluated(self, objective: int, hashes: AbstractSet[bytes], /) -> bool:
        """Whether all these candidates were evaluated, by their hashes of 16 bytes."""
        missing = set(hashes)
        path = self.folder / f"evaluated-{objective}"
        # Piece by piece, since the file of a long run is larger than a platform's share of memory.
        if missing and path.exists():
            with path.open("rb") as file:
                while missing and (data := file.read(16 << 16)):
                    missing -= {data[at : at + 16] for at in range(0, len(data) - 15, 16)}
        return not missing


def agreements_naming(config: NodeConfig, signing_key: str, /) -> list[str]:
    """The folders of kept agreements that know the node by this key: it signs their logs."""
    data = Path(config.folder) / config.data
    return [
        path.parent.name
        for path in sorted(data.glob("*/agreement.json"))
        if read_agreement(path.read_bytes()).nodes[config.node].signing_key == signing_key
    ]
