"""List what is checked: each model's properties, and each rule that can be left out of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

PROPERTIES = [
    (r"non-progress cycle", "it ends"),
    (
        r"phase==2|FROZEN|\(\(decided\[0\]&&decided\[1\]\)&&decided\[2\]\)",
        "three honest nodes end it",
    ),
    (r"accepting>=2", "two honest nodes have what is decided"),
    (r"willing\[|status_at\[", "no honest node votes twice"),
    (r"bound\[", "one value is decided"),
    (r"seen==0", "nobody chooses after a contribution is seen"),
    (r"drawn\[", "one seed is drawn"),
    (r"decided\[", "one value is decided"),
    (r"was_away", "no honest node is removed"),
    (r"three==", "one set of three"),
    (r"all_in==", "nobody is removed after a return"),
    (r"begun\[", "all in an epoch know its members"),
    (r"honest", "no honest participant is blamed"),
    (r"lied_with", "the liar is named"),
    (r"&8|made\[", "no honest node is named"),
]
"""Properties by what Spin prints of the assertion, the first one that fits."""


@dataclass(frozen=True, slots=True)
class Case:
    """One search: a model, what is defined in it, and the property that this breaks."""

    model: str
    title: str
    defines: tuple[str, ...] = ()
    broken: str = ""
    """The property of which Spin must find a counterexample; empty if all hold."""
    cycles: bool = False
    """Search for runs that never end, in place of assertions that do not hold."""
    fair: bool = False
    """Only for runs that are weakly fair to every process."""

    def property_of(self, output: str, /) -> str:
        """Return which property a counterexample breaks."""
        violated = next((line for line in output.splitlines() if line.startswith("pan:1:")), "")
        names = (name for pattern, name in PROPERTIES if re.search(pattern, violated))
        return next(names, violated)


def _without(model: str, rule: str, broken: str, *more: str) -> Case:
    return Case(model, f"without a rule: `{rule}`", (rule, *more), broken)


ONE_VALUE = "one value is decided"
ENDS = "three honest nodes end it"
NOT_REMOVED = "no honest node is removed"
NOT_NAMED = "no honest node is named"

CASES = [
    Case("ballots", "safety"),
    Case("ballots", "safety, three ballots", ("BALLOTS=3", "ALIKE", "DECISIONS_OF_QUORUMS")),
    Case("ballots", "progress", ("PROGRESS",)),
    Case("ballots", "progress: no run goes on for ever", ("PROGRESS",), cycles=True),
    _without("ballots", "NO_STATUS", ONE_VALUE),
    _without("ballots", "NO_PROOF", "two honest nodes have what is decided"),
    _without("ballots", "NO_BOUND_QUORUM", ONE_VALUE),
    _without("ballots", "LATE", ONE_VALUE),
    _without("ballots", "NO_SYNC", "no honest node votes twice"),
    _without("ballots", "FRESH_STATUS", "no honest node votes twice"),
    _without("ballots", "ONE_WORD", ENDS, "PROGRESS"),
    _without("ballots", "ONE_OBJECTION", ENDS, "PROGRESS"),
    _without("ballots", "OWN_LOCK", ENDS, "PROGRESS"),
    _without("ballots", "DECIDED_IS_SILENT", ENDS, "PROGRESS"),
    Case("inputs", "safety", ("ALIKE",)),
    Case("inputs", "progress", ("PROGRESS",)),
    Case("inputs", "progress: no run goes on for ever", ("PROGRESS",), cycles=True),
    _without("inputs", "ONE_ROUND", ONE_VALUE),
    _without("inputs", "OPEN_EARLY", "nobody chooses after a contribution is seen"),
    _without("inputs", "NOT_FITTING", "one seed is drawn"),
    _without("inputs", "NO_ECHO", ENDS, "PROGRESS"),
    Case("loss", "safety"),
    Case("loss", "progress", ("PROGRESS",)),
    Case("loss", "progress: no fair run goes on for ever", ("PROGRESS",), cycles=True, fair=True),
    _without("loss", "ONE_SECOND", NOT_REMOVED, "EPOCHS=1"),
    _without("loss", "NO_LOOK", NOT_REMOVED, "EPOCHS=1"),
    _without("loss", "AGAIN", "one set of three", "EPOCHS=2"),
    _without("loss", "SAME_NUMBER", "all in an epoch know its members", "EPOCHS=1"),
    _without("loss", "NO_MEMBERS", "all in an epoch know its members", "EPOCHS=1"),
    Case("naming", "safety, and the liar is named"),
    _without("naming", "UNCHECKED", NOT_NAMED),
    _without("naming", "REPEATED", NOT_NAMED),
    _without("naming", "NO_SIGNATURE", "no honest participant is blamed"),
    _without("naming", "REPLAYED", "no honest participant is blamed"),
    _without("naming", "BY_WORD", NOT_NAMED),
]
