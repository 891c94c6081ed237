"""A participant's leakage budget: remember which rows were sealed, and estimate what adds up.

Rows are remembered as hashes, from which no cost can be read. A hash is keyed with a secret that
follows from the participant's signing key, so whoever has the files without the key can test no
guess. Whoever has the key too can test guesses of whole rows.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from tacit.agreement import Agreement, agreement_hash
from tacit.audit import Together, expected_together
from tacit.errors import FileError, InputError
from tacit.files import other_version
from tacit.identity import Keys
from tacit.participant.profile import Profile

FORMAT: Literal["tacit-sealed-rows/1"] = "tacit-sealed-rows/1"


class SealedHashes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hashes of the rows that were sealed for one objective of an agreement."""

    format: Literal["tacit-sealed-rows/1"]
    secret: str
    """Which secret the hashes are keyed with, as a hash of its own: after a change of keys nothing
    can be compared."""
    seconds: int
    """When, in seconds since 1970."""
    rows: list[str]


@dataclass(frozen=True)
class SealedEarlier:
    """Rows that were sealed for one objective of an agreement that this machine signed."""

    run: str
    agreement: Agreement
    objective: int
    hashes: SealedHashes | None
    """None if their file was removed."""

    @property
    def name(self) -> tuple[str, int]:
        """Agreement and objective, which identify it."""
        return agreement_hash(self.agreement).hex(), self.objective


def row_hashes(weights: NDArray[np.int64], scale: int, keys: Keys, /) -> list[str]:
    """One hash per row, whatever its name: of its costs themselves, not of how they are scaled.

    Nor of their order: a platform may list the same columns otherwise in another agreement.

    >>> keys = Keys.new("north")
    >>> a, b = row_hashes(np.array([[15, 20], [25, 15]]), 10, keys)
    >>> row_hashes(np.array([[200, 150]]), 100, keys) == [a], a == b
    (True, False)
    """
    secret = _secret(keys)
    hashes = []
    for row in weights:
        # In lowest terms, so that the same costs under another scale have the same hash.
        common = int(np.gcd.reduce(row, initial=scale))
        text = ",".join(str(int(each) // common) for each in (scale, *np.sort(row)))
        hashes.append(hmac.digest(secret, text.encode(), "sha256")[:16].hex())
    return hashes


def secret_name(keys: Keys, /) -> str:
    """Name the secret that hashes are keyed with, without disclosing anything of it."""
    return hashlib.sha256(b"name" + _secret(keys)).hexdigest()[:16]


def _secret(keys: Keys) -> bytes:
    derive = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"tacit rows sealed before/1")
    return derive.derive(keys.signing.private_bytes_raw())


def keep_hashes(
    profile: Profile, run: str, objective: int, hashes: list[str], /, *, seconds: int
) -> None:
    """Remember what is about to be uploaded, beside what was uploaded before and refused."""
    name, before = secret_name(profile.keys()), load_hashes(profile, run, objective)
    # What was uploaded earlier and refused is not forgotten: it was sealed, too.
    if before is not None and before.secret == name:
        hashes = list(dict.fromkeys([*before.rows, *hashes]))
    data = msgspec.json.encode(SealedHashes(FORMAT, name, seconds, hashes))
    profile.keep(run, f"sealed-{objective}.json", data)


def load_hashes(profile: Profile, run: str, objective: int, /) -> SealedHashes | None:
    data = profile.read(run, file := f"sealed-{objective}.json")
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=SealedHashes)
    except msgspec.DecodeError as error:
        what = other_version(data, FORMAT) or f"was changed ({error})"
        raise FileError(
            profile.run_folder(run) / file, None, what, "restore or remove it"
        ) from None


def sealed_earlier(profile: Profile, /) -> Iterator[SealedEarlier]:
    """Everything that this machine has sealed, by run and objective."""
    for folder in sorted((profile.folder / "runs").glob("*")):
        run = folder.name
        agreement = profile.signed_agreement(run)
        if agreement is None:
            continue
        for k in agreement.confidential():
            hashes = load_hashes(profile, run, k)
            if hashes is not None or profile.manifests(run, k):
                yield SealedEarlier(run, agreement, k, hashes)


MOSTLY = 0.5
"""From this share of rows on, costs count as mostly the same."""
SCALE = "on a scale from 0, nothing, to 1, everything"


@dataclass(frozen=True)
class Repeated:
    """Costs that are about to be sealed, some of which were sealed before."""

    rows: int
    same: int
    """How many of the rows were sealed before."""
    earlier: list[SealedEarlier]
    together: Together

    @property
    def mostly(self) -> bool:
        """Whether this is the same once more, and not a row here or there."""
        return self.same >= MOSTLY * self.rows

    def words(self) -> str:
        runs = ", ".join(dict.fromkeys(each.run for each in self.earlier))
        return (
            f"{self.same} of {self.rows} rows were sealed before, in {runs}; with this run "
            f"{together_words(self.together)}"
        )

    def check(self) -> None:
        """Refuse what is mostly the same."""
        if self.mostly:
            raise InputError(
                f"nothing was sealed: {self.words()}. tacit participant budget lists all of it; "
                "add --again to seal them once more"
            )


@dataclass(frozen=True)
class Spent:
    """A line of the budget: what was sealed once, and what it adds up to with the same costs."""

    sealed: SealedEarlier
    same_in: list[str]
    """The other runs with mostly the same rows, or of the same series with other columns."""
    together: Together
    comparable: bool
    """Whether the rows are remembered, and under the present key."""


def repeated(
    profile: Profile, agreement: Agreement, objective: int, weights: NDArray[np.int64], /
) -> Repeated | None:
    """Find rows that this machine has sealed before, for anything else than this objective."""
    keys = profile.keys()
    hashes = row_hashes(weights, agreement.objectives[objective].scale, keys)
    own, secret = (agreement_hash(agreement).hex(), objective), secret_name(keys)
    earlier = [
        each
        for each in sealed_earlier(profile)
        # Rows sealed again for the same objective, after a refusal, are evaluated once.
        if each.name != own and _rows(each, secret).intersection(hashes)
    ]
    if not earlier:
        return None
    known = set().union(*(_rows(each, secret) for each in earlier))
    terms = [(agreement, objective), *((each.agreement, each.objective) for each in earlier)]
    same = sum(each in known for each in hashes)
    return Repeated(len(hashes), same, earlier, expected_together(terms))


def budget(profile: Profile, /) -> list[Spent]:
    """Everything that this machine has sealed, the latest last."""
    secret = secret_name(profile.keys())
    found = sorted(sealed_earlier(profile), key=_seconds)
    lines = []
    for each in found:
        rows = _rows(each, secret)
        same = [
            other for other in found if other is not each and rows and _is_same(each, other, secret)
        ]
        terms = [(it.agreement, it.objective) for it in (each, *same)]
        runs = list(dict.fromkeys(other.run for other in same))
        lines.append(Spent(each, runs, expected_together(terms), bool(rows)))
    return lines


def _is_same(one: SealedEarlier, other: SealedEarlier, secret: str) -> bool:
    rows = _rows(one, secret)
    if len(rows & _rows(other, secret)) >= MOSTLY * len(rows):
        return True
    # Hashes are of whole rows: with other columns the same costs have others. A platform may choose
    # the columns of each run of a series, so what cannot be compared counts as the same.
    series = one.agreement.series, other.agreement.series
    return (
        None not in series
        and series[0].series == series[1].series  # type: ignore[union-attr]
        and one.objective == other.objective
        and one.agreement.problem.columns != other.agreement.problem.columns
    )


def _rows(sealed: SealedEarlier, secret: str) -> set[str]:
    """Hashes that can be compared with those under this secret."""
    hashes = sealed.hashes
    return set(hashes.rows) if hashes is not None and hashes.secret == secret else set()


def _seconds(sealed: SealedEarlier) -> int:
    return sealed.hashes.seconds if sealed.hashes is not None else 0


def together_words(together: Together, /) -> str:
    counts = enumerate(together.evaluations.items())
    allowed = [f"{n:,}{' evaluations' * (i == 0)} under {name}" for i, (name, n) in counts]
    if not allowed and not together.plans:
        return "plans are opened to their owners alone, of which the platform learns nothing"
    varied = f", {together.problems} of them with another mask, other rows or columns each"
    if not allowed and together.problems > 1:
        return (
            f"{together.plans} plans are opened{varied}; one of them tells {together.alone:.2f}, "
            f"and so many told up to {together.estimate:.2f} {SCALE}, where it was measured"
        )
    if not allowed:
        return (
            f"{together.plans} plans are opened, of one problem; one of them tells "
            f"{together.alone:.2f} {SCALE}. A proven optimum tells no more when it is found again; "
            "what several other plans tell together, nobody has measured"
        )
    plans = f" and {together.plans} opened plans" if together.plans else ""
    plans += varied * (together.problems > 1)
    known = ""
    if together.structured is not None:
        known = f", or {together.structured:.2f} if your costs follow a structure that is known"
    more = ", and there are more than anybody has measured: it may be more" * together.beyond
    return (
        f"there may be {' and '.join(allowed)}{plans}, which give away an estimated "
        f"{together.estimate:.2f} {SCALE}{known} (the run by itself {together.alone:.2f}; sums are "
        f"estimates: all counted as one run under {together.counted_as}{more})"
    )


def budget_lines(spent: Sequence[Spent], /) -> list[str]:
    lines = []
    for each in spent:
        terms, limits = each.sealed.agreement.objectives, each.sealed.agreement.limits
        name, disclosure = (
            terms[each.sealed.objective].name,
            terms[each.sealed.objective].disclosure,
        )
        when = f"{datetime.fromtimestamp(_seconds(each.sealed), UTC):%Y-%m-%d}"
        lines.append(
            f"{each.sealed.run}  {when if each.comparable else 'at some time'}  {name!r} under "
            f"{disclosure}, at most {limits.evaluations:,} evaluations: {each.together.alone:.2f}"
        )
        if not each.comparable:
            lines.append(
                "  its rows are not remembered (their file was removed, or was made with another "
                "key), so what adds up to it is not known"
            )
        elif each.same_in:
            words = together_words(each.together)
            what = "mostly the same rows, or the same series with other columns"
            lines.append(f"  {what}, in {', '.join(each.same_in)}: {words}")
    if spent:
        lines.append(f"Figures: what a curious platform may learn {SCALE}, if it uses all of it.")
    return lines


def budget_json(spent: Sequence[Spent], /) -> list[dict[str, Any]]:
    """The budget for programs; no hash is in it."""
    return [
        {
            "run": each.sealed.run,
            "agreement": each.sealed.name[0],
            "objective": terms.name,
            "sealed": _seconds(each.sealed) or None,
            "rows": len(each.sealed.hashes.rows) if each.sealed.hashes is not None else None,
            "comparable": each.comparable,
            "disclosure": terms.disclosure,
            "best": terms.best,
            "evaluations": each.sealed.agreement.limits.evaluations,
            "same_in": each.same_in,
            "together": asdict(each.together),
        }
        for each in spent
        for terms in (each.sealed.agreement.objectives[each.sealed.objective],)
    ]
