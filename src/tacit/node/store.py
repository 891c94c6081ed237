"""What states on a node's disk are made of.

What was disclosed under an agreement, in the order in which a node was told.

Evaluation numbers that are set aside ahead of their use, so that a power cut repeats none.

A power cut may lose what was appended to the log last. So a lease of numbers is on the disk before
they are used: after a restart of the machine all of them count as used.

What a node keeps on disk about one agreement, and how it gets there without tearing.

::

    agreement.json        the agreement, canonical
    signatures            of all participants
    inputs/O-P            sealed rows of participant P for objective O, still sealed
    contribution-O        what the node adds to the seed of the search, drawn once
    log.jsonl             the hash chain: it is also the record of all evaluation numbers
    peer-heads            how far the peers' logs have come, as they said and signed
    lease                 numbers that count as used after a power cut, fsynced before they are
    best-O                shares of the best fitness so far, where `improvement` is disclosed (*)
    weighted              shares of the weights times factors, in a series with equity (*)
    sealed-S-G            shares of sealed run S after step G, the last two of them (*)
    parts-S               boxes with the parts of a plan for its owners, as they are released
    evaluated-O           hashes of evaluated candidates, where the final reveal is allowed
    answers               what was disclosed, where the nodes derive the populations from it
    public-O              weights of a public objective, which the search needs for that too

(*) Encrypted under the agreement's sealing key, as the inputs are: without that key nothing here
is a secret, and it is erased when the agreement has ended. Inputs, states and what was disclosed go
then too; the agreement, its log and the boxes of a plan for its owners stay.

Every evaluation is appended to the log before it is computed, which survives the death of the
process; for power cuts there is the lease.

What a node keeps, seen from outside the node: for its operator's commands.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from nacl.encoding import RawEncoder
from nacl.hash import blake2b
from nacl.secret import SecretBox
from numpy.typing import NDArray

from tacit.agreement.sealing import CONTRIBUTION_BYTES
from tacit.agreement.terms import Agreement, agreement_hash, canonical, read_agreement
from tacit.errors import EngineError, RefusedError
from tacit.files import remove_drafts, replace_secret
from tacit.identity.config import NodeConfig
from tacit.mpc import ArithmeticShare
from tacit.records.events import AgreementAccepted, Sent
from tacit.records.ledger import DisclosedProof, DisclosureKind, HeardBoxes
from tacit.records.node_log import NodeLog
from tacit.records.requests import Attempt, decode_attempt, encode_attempt


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="stored"):
    """What all states on the disk have: a tag with a version."""


class StoredShare(msgspec.Struct, frozen=True, array_like=True):
    """What this node has of a shared array, as a file has it."""

    word: int
    """Bytes per word."""
    size: tuple[int, ...]
    parts: dict[int, bytes]

    @classmethod
    def of(cls, share: ArithmeticShare, /) -> StoredShare:
        """Return a share to be written."""
        parts = {c: np.ascontiguousarray(part).tobytes() for c, part in share.parts.items()}
        return cls(share.dtype.itemsize, share.shape, parts)

    def read(self) -> ArithmeticShare:
        """Return the share again."""
        word = f"<u{self.word}"
        return ArithmeticShare(
            {c: np.frombuffer(part, word).reshape(self.size) for c, part in self.parts.items()}
        )


class StoredAnswer(Stored, frozen=True, tag="answer/1"):
    """What an evaluation disclosed of an objective to a node that follows the search."""

    objective: int
    labels: list[int]
    best: int | None


_READ_ANSWER = msgspec.msgpack.Decoder(StoredAnswer)


class AnswerFile:
    """Answers one after the other, each with its length before it."""

    def __init__(self, path: Path, /) -> None:
        self._path = path

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._path.stat().st_size if self._path.exists() else 0

    def add(self, objective: int, labels: list[int], best: int | None, /) -> None:
        """Keep an answer, or nothing of it where the disk is full: others come after it."""
        data = msgspec.msgpack.encode(StoredAnswer(objective, labels, best))
        with self._path.open("ab", buffering=0) as file:
            start = file.tell()
            whole = len(data).to_bytes(4, "little") + data
            try:
                written = file.write(whole)
            except OSError:
                written = 0
            if written != len(whole):
                file.truncate(start)
                raise EngineError("an answer cannot be kept; check the node's disk")

    def read(self) -> Iterator[StoredAnswer]:
        """All answers in their order; what a crash left of half a one is cut off."""
        if not self._path.exists():
            return
        with self._path.open("r+b") as file:
            while True:
                start = file.tell()
                size = int.from_bytes(file.read(4), "little")
                data = file.read(size)
                if not size or len(data) < size:
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


_READ_LEASE = msgspec.msgpack.Decoder(StoredLease)


def boot_identity() -> str | None:
    """What changes when the machine restarts, where the system says it."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None


class NumberLease:
    """The lease of one agreement, in a file."""

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
        """Set this number and the next ones aside, on the disk.

        Where the system does not say whether it restarted, that is this number alone.
        """
        ahead = LEASE if self._boot is not None else 0
        # Objectives extend theirs from threads, side by side, and the file is one.
        with self._lock:
            numbers = {**self.lost, **self._lease.numbers}
            numbers[objective] = max(numbers.get(objective, 0), number + ahead)
            lease = StoredLease(self._boot or "", numbers)
            replace_secret(self._path, msgspec.msgpack.encode(lease))
            self._lease = lease


class StoredInput(Stored, frozen=True, tag="input/1"):
    """A participant's sealed rows as they were submitted."""

    manifest: bytes
    signature: bytes
    box: bytes


_READ_INPUT = msgspec.msgpack.Decoder(StoredInput)


class StoredBest(Stored, frozen=True, tag="best/1"):
    """Shares of the best fitness after an evaluation, and the attempt that they come from."""

    number: int
    attempt: Attempt
    components: dict[int, int]


_BEST_ENCODER = msgspec.msgpack.Encoder(enc_hook=encode_attempt)
_READ_BEST = msgspec.msgpack.Decoder(list[StoredBest], dec_hook=decode_attempt)


def folder_name(agreement: bytes, /) -> str:
    """What the folder of an agreement with this hash is called."""
    return agreement.hex()[:32]


def cipher_of_states(key: X25519PrivateKey, /) -> SecretBox:
    """What encrypts an agreement's states on the disk."""
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
        # Last, since a folder without it does not count.
        replace_secret(folder / "agreement.json", canonical(agreement))
        store = cls(folder)
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
        """What is kept here, as far as it grows."""
        return self._bytes + self.log.size + self.answers.size

    # What leaves the node.

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
        """Log what leaves the node as its `digest` with a salt, so that nobody can guess it."""
        salt = secrets.token_bytes(16)
        event = Sent(kind, about, attempt, request.hex(), salt.hex(), digest(salt), known)
        self.log.append(event)

    # Sealed inputs.

    @cached_property
    def _places(self) -> dict[str, int]:
        return {each.name: place for place, each in enumerate(self.agreement.participants)}

    def _input(self, objective: int, participant: str) -> Path:
        return self.folder / "inputs" / f"{objective}-{self._places[participant]}"

    def has_input(self, objective: int, participant: str, /) -> bool:
        """Whether a participant's sealed rows are there."""
        return self._input(objective, participant).exists()

    def input(self, objective: int, participant: str, /) -> StoredInput | None:
        """A participant's sealed rows, if they are there."""
        path = self._input(objective, participant)
        if not path.exists():
            return None
        return _READ_INPUT.decode(path.read_bytes())

    def inputs(self, objective: int, /) -> dict[str, StoredInput]:
        """The sealed rows that are there, by participant."""
        owners = [owner.participant for owner in self.agreement.objectives[objective].owners]
        found = {owner: self.input(objective, owner) for owner in owners}
        return {owner: stored for owner, stored in found.items() if stored is not None}

    def save_input(self, objective: int, participant: str, stored: StoredInput, /) -> None:
        """Keep a participant's sealed rows."""
        data = msgspec.msgpack.encode(stored)
        replace_secret(self._input(objective, participant), data)
        self._bytes += len(data)

    def drop_input(self, objective: int, participant: str, /) -> None:
        """Forget rows that turned out to be unusable, so that they can be sealed again."""
        path = self._input(objective, participant)
        if path.exists():
            self._bytes -= path.stat().st_size
            path.unlink()

    # Contributions to the seed.

    def contribution(self, objective: int, /) -> bytes | None:
        """What this node adds to the seed, if it has drawn it."""
        path = self.folder / f"contribution-{objective}"
        return path.read_bytes() if path.exists() else None

    def draw_contribution(self, objective: int, /) -> bytes:
        """What this node adds to the seed: drawn once, and on the disk before anybody hears."""
        drawn = self.contribution(objective)
        if drawn is None:
            drawn = secrets.token_bytes(CONTRIBUTION_BYTES)
            replace_secret(self.folder / f"contribution-{objective}", drawn)
        return drawn

    # What is remembered of the peers.

    def save_peer_heads(self, data: bytes, /) -> None:
        """Keep how far the peers' logs have come."""
        replace_secret(self.folder / "peer-heads", data)

    # States: shares that the protocols need later.

    def encrypt_states(self, key: X25519PrivateKey | None, /) -> None:
        """Keep states under the agreement's key; without it, which has ended, there are none."""
        self._cipher = None if key is None else cipher_of_states(key)

    def erase_states(self) -> None:
        """Delete the inputs, all shares and what was disclosed: nothing is kept here afterwards.

        Inputs and shares are encrypted, and the key has been overwritten; so it is enough to
        remove them. What was disclosed is not, and a disk may keep blocks of it.
        """
        self._cipher = None
        for pattern in ("inputs/*", "best-*", "weighted", "sealed-*", "answers", "evaluated-*"):
            for path in self.folder.glob(pattern):
                path.unlink()
        self._bytes = self._measured()

    def _save_state(self, name: str, data: bytes) -> None:
        if self._cipher is None:
            raise RefusedError("the node", "the agreement has ended; nothing is kept of it")
        replace_secret(self.folder / name, bytes(self._cipher.encrypt(data)))

    def _load_state(self, path: Path) -> bytes | None:
        if self._cipher is None or not path.exists():
            return None
        return self._cipher.decrypt(path.read_bytes())

    # Best so far.

    def save_best(self, objective: int, states: list[StoredBest], /) -> None:
        """Keep the shares of the best fitness after the last evaluations."""
        self._save_state(f"best-{objective}", _BEST_ENCODER.encode(states))

    def load_best(self, objective: int, /) -> list[StoredBest]:
        """The kept shares, none before the first evaluation."""
        data = self._load_state(self.folder / f"best-{objective}")
        return [] if data is None else _READ_BEST.decode(data)

    # Weights with their factors.

    def save_weighted(self, data: bytes, /) -> None:
        """Keep shares of the weights times factors; none if it is empty."""
        self._save_state("weighted", data)

    def load_weighted(self) -> bytes:
        """The kept shares, empty if there are none."""
        return self._load_state(self.folder / "weighted") or b""

    # Sealed searches.

    def save_sealed(self, search: int, generation: int, data: bytes, /) -> None:
        """Keep a node's shares of a sealed run after a step."""
        self._save_state(f"sealed-{search}-{generation}", data)

    def drop_sealed(self, search: int, generation: int, /) -> None:
        """Forget an older state."""
        (self.folder / f"sealed-{search}-{generation}").unlink(missing_ok=True)

    def load_sealed(self, search: int, /) -> list[bytes]:
        """The kept states of a sealed search."""
        found = map(self._load_state, self.folder.glob(f"sealed-{search}-*[0-9]"))
        return [state for state in found if state is not None]

    # Plans for their owners.

    def save_parts(self, search: int, data: bytes, /) -> None:
        """Keep the boxes with the parts of a plan: they are sealed once."""
        replace_secret(self.folder / f"parts-{search}", data)
        self._bytes += len(data)

    def load_parts(self, search: int, /) -> bytes | None:
        """The boxes with the parts of a plan, if they were sealed."""
        path = self.folder / f"parts-{search}"
        return path.read_bytes() if path.exists() else None

    # Public weights.

    def public_weights(self) -> dict[int, NDArray[np.int64]]:
        """The weights of all public objectives."""
        problem, found = self.agreement.problem, {}
        for k, terms in enumerate(self.agreement.objectives):
            path = self.folder / f"public-{k}"
            if not terms.confidential and path.exists():
                flat = np.frombuffer(path.read_bytes(), dtype="<i8").astype(np.int64)
                found[k] = flat.reshape(problem.rows, problem.columns)
        return found

    # Evaluated candidates.

    def add_evaluated(self, objective: int, hashes: set[bytes], /) -> None:
        """Remember that these candidates were evaluated."""
        with (self.folder / f"evaluated-{objective}").open("ab") as file:
            self._bytes += file.write(b"".join(hashes))

    def were_evaluated(self, objective: int, hashes: AbstractSet[bytes], /) -> bool:
        """Whether all these candidates were evaluated, by their hashes of 16 bytes."""
        missing = set(hashes)
        path = self.folder / f"evaluated-{objective}"
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
