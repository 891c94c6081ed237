"""Check everything that must hold before a participant signs a run, and sign it.

What is signed is the agreement. What else the platform says of a run, such as its deadline, is its
word, and is shown as that. A run of a series must be within the series that this machine signed:
what counts is what was signed here, the records kept here and the clock of this machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacit.agreement import (
    Agreement,
    Series,
    agreement_hash,
    check_agreement,
    check_still_runs,
    departures,
    objection_to_pace,
    objection_to_run,
    read_agreement,
    series_hash,
    sign_agreement,
)
from tacit.client import MemberView, PlatformClient, RunView
from tacit.derived import check_derivable, with_public_weights
from tacit.errors import AgreementError, InputError, PlatformError, TacitError, TrustError
from tacit.participant.costs import read_costs
from tacit.participant.leakage_budget import repeated
from tacit.participant.profile import Profile, replace_private
from tacit.participant.series_records import (
    as_followed,
    folder_of_series,
    followed_runs,
    head_refusals,
    keep_run,
    series_named,
)
from tacit.participant.trust import Trust, load_trust, save_trust, trust_refusals
from tacit.problems import Problem
from tacit.search.moves import AssignmentParameters


def fetch_public_problem(client: PlatformClient, run: str, agreement: Agreement, /) -> Problem:
    """The problem with the weights of its public objectives, which must be those agreed on."""
    if len(agreement.confidential()) == len(agreement.objectives):
        return agreement.known_problem
    carried = client.runs.public_weights(run)
    try:
        found = {k: np.array(rows, dtype=np.int64) for k, rows in carried.objectives.items()}
    except (ValueError, OverflowError) as error:
        raise PlatformError(
            f"the platform does not bring the public weights ({error}); ask its operator"
        ) from None
    return with_public_weights(agreement, found)


def public_warnings(agreement: Agreement, /) -> list[str]:
    """Warn of what a public objective means for the confidential ones."""
    public = [repr(terms.name) for terms in agreement.objectives if not terms.confidential]
    if not public:
        return []
    return [
        f"{', '.join(public)}: a public objective decides where the search goes, too, and the "
        "figures are those of a search without one; where it was measured, more could be inferred "
        "(0.72 in place of 0.69)"
    ]


def public_refusals(client: PlatformClient, run: str, agreement: Agreement, /) -> list[str]:
    """Explain why an agreement with public objectives must not be signed."""
    try:
        fetch_public_problem(client, run, agreement)
    except AgreementError as error:
        return [str(error)]
    return []


def series_refusals(
    profile: Profile, run: str, agreement: Agreement, /, *, deadline_seconds: float | None
) -> list[str]:
    """Explain why a run of a series must not be signed; nothing for a run of none."""
    named = agreement.series
    if named is None:
        return []
    found = series_named(profile, named.series)
    if found is None:
        return [
            f"it is a run of series {named.series[:16]}..., which this machine has not signed; "
            "tacit participant follow SERIES shows one and signs it"
        ]
    series_id, series = found
    # This machine's clock: the platform's would let it stretch a day.
    now = time.time()
    reasons = [
        f"it is not within series {series_id}: {why}"
        for why in departures(series, agreement, now=now)
    ]
    try:
        check_still_runs(series, now)
    except AgreementError as error:
        reasons.append(str(error))
    taken, new = followed_runs(profile, series_id), as_followed(run, agreement)
    pace = objection_to_pace(taken, new, runs_per_day=series.limits.runs_per_day)
    reasons.extend(why for why in (objection_to_run(taken, new), pace) if why is not None)
    reasons.extend(head_refusals(profile, series_id, agreement))
    agreed = series.limits.deadline_seconds
    if deadline_seconds is not None and deadline_seconds > agreed:
        reasons.append(
            f"the platform gives it {deadline_seconds:g} s, and {agreed:g} s were agreed on"
        )
    return reasons


MOST_CLOCK_SECONDS = 2.0
"""Clocks that differ by more are mentioned."""
UNPINNED = "nobody but the platform says whose keys these are"
HOW_TO_PIN = (
    "get each participant's key from itself (tacit participant keys show --toml) and each node's "
    "from its operator (tacit keys show KEY --address HOST:PORT), not by way of the platform, "
    "compare their fingerprints by phone, and pin them with tacit participant trust FILE..., or "
    "for one run with --trust FILE; --unpinned goes on without"
)


@dataclass(frozen=True)
class Review:
    """The agreement of a run, or a series, and what this machine has to say about it."""

    id: str
    name: str
    state: str
    agreement: Agreement
    """Of a series its pattern: a run if nothing varies."""
    account: str
    pinned: bool
    """Whether keys from another channel were compared."""
    deadline_seconds: float | None = None
    """The platform's word, as are the members: neither is signed."""
    members: Sequence[MemberView] = ()
    series: Series | None = None
    refusals: list[str] = field(default_factory=list)
    """Why it must not be signed; empty if all checks pass."""
    warnings: list[str] = field(default_factory=list)
    costs_faults: list[str] = field(default_factory=list)
    """Why the participant's own file does not fit: nothing against the agreement."""
    costs_fit: str = ""
    """Which objective the file fits, if one was given."""

    @property
    def hash(self) -> str:
        """The hash of what is signed."""
        if self.series is not None:
            return series_hash(self.series)
        return agreement_hash(self.agreement).hex()

    @property
    def own_rows(self) -> dict[str, list[int]]:
        """Per confidential objective, the rows that this participant seals."""
        agreement = self.agreement
        return {
            agreement.objectives[k].name: agreement.rows_of(self.account, k)
            for k in agreement.confidential()
        }

    def check(self) -> None:
        """Raise an error that names everything that speaks against signing."""
        if self.refusals:
            raise TrustError(
                f"do not sign {self.id}: {'; '.join(self.refusals)}. Ask those concerned over "
                "another channel than the platform"
            )

    def check_costs(self) -> None:
        """Raise an error if the file of costs does not fit; it can be corrected until `submit`."""
        if self.costs_faults:
            raise InputError(f"{'; '.join(self.costs_faults)}. The agreement itself is as it was")


def review(
    profile: Profile,
    run: str,
    /,
    *,
    trust: Trust | None = None,
    unpinned: bool = False,
    costs: Path | None = None,
) -> Review:
    """Fetch a run's agreement and check all that can be checked before signing.

    `trust` pins keys for this review; without it those count that the profile has remembered. With
    neither it must not be signed, unless `unpinned` says to believe the platform whose keys these
    are.
    `costs` is the participant's CSV, to see now rather than later whether it fits.
    """
    with profile.connect() as client:
        view = client.runs.show(run)
        agreement = read_agreement(client.runs.agreement(run))
        faults = _faults(agreement)
        # What contradicts itself is looked at no further: its sizes may be anything.
        public = [] if faults else public_refusals(client, run, agreement)
        offset = client.clock_offset
    deadline = view.terms.deadline_seconds
    refusals = [*faults, *_own_refusals(profile, run, agreement, is_sound=not faults), *public]
    if not faults:
        refusals += series_refusals(profile, run, agreement, deadline_seconds=deadline)
    trust = trust or profile_trust(profile)
    warnings = check_keys(agreement, trust, refusals, own=profile.account, unpinned=unpinned)
    costs_fit, costs_faults = "", list[str]()
    if costs is not None and not refusals:
        costs_fit, costs_faults, added = _costs_fit(agreement, profile, costs)
        warnings += added
    warnings += [*_warnings(agreement, deadline), *public_warnings(agreement)]
    warnings += clock_warnings("the platform", offset)
    return Review(
        view.id,
        view.name,
        view.state,
        agreement,
        profile.account,
        pinned=trust is not None,
        deadline_seconds=deadline,
        members=view.members,
        refusals=refusals,
        warnings=warnings,
        costs_faults=costs_faults,
        costs_fit=costs_fit,
    )


def profile_trust(profile: Profile, /) -> Trust | None:
    """The keys that the profile has remembered, if there are some."""
    return load_trust(profile.trust_file) if profile.trust_file.exists() else None


def check_keys(
    agreement: Agreement, trust: Trust | None, refusals: list[str], /, *, own: str, unpinned: bool
) -> list[str]:
    """Compare the keys of an agreement with the pinned ones; returns what to warn of."""
    if trust is not None:
        refusals += trust_refusals(agreement, trust, own=own)
        return _absent(agreement, trust)
    if unpinned:
        return [f"{UNPINNED}, and you chose to believe it (--unpinned)"]
    refusals.append(f"{UNPINNED}: {HOW_TO_PIN}")
    return []


def clock_warnings(who: str, offset: float | None, /) -> list[str]:
    """A warning if another clock differs from ours.

    >>> clock_warnings("the platform", 65.0)
    ["the platform's clock is 65 s ahead of yours; deadlines may not be when you think"]
    """
    if offset is None or abs(offset) <= MOST_CLOCK_SECONDS:
        return []
    side = "ahead of" if offset > 0 else "behind"
    return [
        f"{who}'s clock is {abs(offset):.0f} s {side} yours; deadlines may not be when you think"
    ]


def _faults(agreement: Agreement) -> list[str]:
    try:
        check_agreement(agreement)
    except (TacitError, ValueError) as error:
        return [f"the agreement contradicts itself: {error}"]
    return []


def _own_refusals(profile: Profile, run: str, agreement: Agreement, *, is_sound: bool) -> list[str]:
    found = refusals_of_pattern(profile, agreement, is_sound=is_sound)
    signed = profile.signed_agreement(run)
    # With two signatures for one run the platform could choose which agreement holds.
    if signed is not None and signed != agreement:
        found.append(
            f"this machine signed another agreement for this run "
            f"({agreement_hash(signed).hex()[:16]}...), and the platform has changed it since: "
            f"{', '.join(changed_parts(signed, agreement))}"
        )
    return found


def refusals_of_pattern(
    profile: Profile, agreement: Agreement, /, *, is_sound: bool = True
) -> list[str]:
    """Explain what does not fit this participant in an agreement, or in the pattern of a series.

    One that is not sound may have any sizes, so nothing is computed of it.
    """
    found = []
    try:
        if is_sound:
            check_derivable(agreement)  # a sealed search is checked above
    except TacitError as error:
        found.append(f"the agreed search could not be followed here ({error})")
    if agreement.evaluated() and agreement.search.populations == "chosen":
        found.append(
            "the platform chooses what is evaluated, and could find out nearly everything; let it "
            "draft the run so that the nodes derive it"
        )
    keys = {each.name: each.signing_key for each in agreement.participants}
    if profile.account not in keys:
        found.append(f"you, {profile.account!r}, are not among its participants")
    # Whoever has that other key could sign and seal in this participant's name.
    elif keys[profile.account] != profile.keys().signing_public:
        found.append(f"it has another key under your name, {profile.account!r}, than yours")
    elif not any(agreement.rows_of(profile.account, k) for k in agreement.confidential()):
        found.append(f"it gives you, {profile.account!r}, no rows")
    if agreement.limits.expires <= time.time():
        found.append("it has expired")
    return found


def changed_parts(before: Agreement, after: Agreement, /) -> list[str]:
    names = Agreement.__struct_fields__
    return [name for name in names if getattr(before, name) != getattr(after, name)]


def _costs_fit(
    agreement: Agreement, profile: Profile, costs: Path
) -> tuple[str, list[str], list[str]]:
    """The objective that a file fits, or why it fits none, and what adds up with these costs.

    Of several objectives the file may be meant for one.
    """
    fit, faults, warnings = "", [], []
    for k in agreement.confidential():
        if not agreement.rows_of(profile.account, k):
            continue
        name = agreement.objectives[k].name
        try:
            weights = read_costs(costs, agreement, profile.account, k)
        except InputError as error:
            faults.append(f"your file does not fit {name!r} ({error})")
            continue
        fit = fit or name
        before = repeated(profile, agreement, k, weights)
        warnings += [] if before is None else [before.words()]
    return fit, [] if fit else faults, warnings


def _absent(agreement: Agreement, trust: Trust) -> list[str]:
    """Name those who are trusted and left out: with fewer costs less hides each of them."""
    known = {each.name for each in agreement.participants}
    absent = [each.name for each in trust.participant if each.name not in known]
    return [f"not in this run, of those you trust: {', '.join(absent)}"] if absent else []


def _warnings(agreement: Agreement, deadline: float | None) -> list[str]:
    limits, found = agreement.limits, []
    if agreement.search.seed is not None:
        found.append("the seed of the search was chosen beforehand, not drawn by the nodes")
    if len(agreement.participants) == 1:
        found.append("you are the only participant: whatever is disclosed is about you alone")
    population = agreement.search.parameters.get("population")
    if isinstance(population, int) and limits.population_max > 2 * population:
        found.append(
            f"the agreement allows up to {limits.population_max:,} plans per evaluation where the "
            f"search needs {population:,} or twice that"
        )
    return found + (_early_warnings(agreement, deadline) if agreement.sealed else [])


def _early_warnings(agreement: Agreement, deadline: float | None) -> list[str]:
    """Warn of what lets a platform open the plan of an assignment early.

    A plan that is opened early discloses which of the first changes were worth it.
    """
    parameters = agreement.sealed_run.parameters
    if not isinstance(parameters, AssignmentParameters):
        return []
    if not parameters.least:
        return ["no least number of iterations is agreed on: the plan may be opened at any time"]
    if parameters.seconds and deadline is not None and parameters.seconds < int(deadline):
        return [
            f"the plan may be opened early from {parameters.seconds:,} s on, and the deadline is "
            f"{deadline:g} s"
        ]
    return []


def sign(
    profile: Profile,
    run: str,
    /,
    *,
    trust: Trust | None = None,
    unpinned: bool = False,
    seen: Review | None = None,
) -> RunView:
    """Sign a run's agreement and hand the signature in; what was signed stays in the profile.

    `seen` is the review that somebody has just read: its agreement is signed and no other.
    `trust` and `unpinned` are as for `review`.
    """
    seen = seen or review(profile, run, trust=trust, unpinned=unpinned)
    seen.check()
    # First kept, then sent: after a crash in between, this machine still knows whatever the
    # platform has a signature for, and signs nothing else in its place.
    profile.keep_agreement(run, seen.agreement)
    keep_run(profile, run, seen.agreement)
    signature = sign_agreement(seen.agreement, profile.keys().signing)
    with profile.connect() as client:
        return client.runs.sign(run, signature)


def keep_reviewed(profile: Profile, seen: Review, /, *, trust: Trust | None = None) -> None:
    """Remember that somebody has read this, and pin the keys given for it unless they are refused.

    `check_is_expected` then lets `--yes` sign what was read and nothing else.
    """
    replace_private(_reviewed_file(profile, seen), f"{seen.hash}\n".encode())
    # Keys that an agreement contradicts are not pinned: either of the two may be the forged one.
    if trust is not None and not seen.refusals:
        save_trust(trust, profile.trust_file)


def reviewed_hash(profile: Profile, seen: Review, /) -> str | None:
    """The hash of what somebody has read last of this run or series."""
    path = _reviewed_file(profile, seen)
    return path.read_text().strip() if path.exists() else None


def _reviewed_file(profile: Profile, seen: Review) -> Path:
    folder = folder_of_series if seen.series is not None else Profile.run_folder
    return folder(profile, seen.id) / "reviewed"


def check_is_expected(seen: Review, expected: str | None, /) -> None:
    """Refuse to sign, unseen, anything other than what somebody has read."""
    what, option = f"the agreement of {seen.id}", "--agreement"
    command = f"tacit participant review {seen.id}"
    if seen.series is not None:
        what, option = f"series {seen.id}", "--series"
        command = f"tacit participant follow {seen.id} --review"
    if expected is None:
        raise TrustError(
            f"nobody has read {what} here; run {command}, or name it with {option} HASH"
        )
    if seen.hash != expected.strip().lower():
        raise TrustError(
            f"{what} is now {seen.hash[:16]}..., says the platform, and not {expected[:16]}..., "
            f"which is the one to sign; nothing was signed: run {command} and see what is different"
        )
