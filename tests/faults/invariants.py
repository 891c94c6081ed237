"""What must hold after every fault: each function returns what does not, in sentences."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from tacit import participant
from tacit.agreement import agreement_hash
from tacit.errors import InputError, LogError, OverloadedError, PlatformError, UnreachableError
from tacit.node.keys import SEALING_KEYS
from tacit.node.store import folder_name
from tacit.records import read_ledger
from tacit.records.events import LogEvent, NodeLost, NodeNamed, Sent
from tacit.records.ledger import DisclosedPlan, DisclosedToOwners
from tacit.records.log import events_of, verify_log
from tests.faults.arena import ASK_EVERY_SECONDS, NAMES, Arena, Party, resident_megabytes
from tests.faults.disks import used_bytes
from tests.faults.faults import Fault
from tests.faults.runs import ROWS, Run
from tests.support.cpu_waits import CpuWaits

LATE_SECONDS = 1.0
"""What counts as late, on a machine that does all of it, beyond what the machine did not give."""
ERASED_SECONDS = 60.0
"""How long nodes may take to erase what a run leaves, once all is well again."""
MOST_NODE_MEGABYTES, MOST_PLATFORM_MEGABYTES = 400.0, 500.0
MOST_KILOBYTES, MOST_KILOBYTES_PER_RUN = 8000.0, 400.0
"""On the disk of a node or of the platform: at once (a database's journal), and logs, ledger and
agreement of every run."""
ERASED = ("inputs/*", "best-*", "sealed-*", "weighted", "answers")


def ended(run: Run, fault: Fault) -> list[str]:
    """It ended with its plan, or failed since what a node had promised was lost."""
    if run.troubles:
        return run.troubles
    if run.state == "finished" or may_have_failed(run, fault):
        return []
    return [f"{run.state}: {run.reason}"]


def may_have_failed(run: Run, fault: Fault) -> bool:
    """Whether a run failed for a reason that the fault is."""
    return (
        run.state == "failed"
        and fault.party is not None
        and fault.party.name in run.reason
        and any(each in run.reason for each in fault.ends_runs)
    )


def punctual(run: Run, arena: Arena, fault: Fault, waits: CpuWaits, span: Span) -> list[str]:
    """Its answer was stored at its deadline, or as soon as there was a platform again."""
    found = []
    logged = stored_late(arena.log).get(run.id, [])
    if logged and run.ended_at:
        # By this clock, since the platform's own may have jumped.
        logged[-1] = (run.ended_at, logged[-1][1])
    for at, late in logged:
        due = at - late
        allowed = LATE_SECONDS + waits.between(due, at)
        if fault.stops_platform and span[0] <= at and due <= span[1]:
            allowed += max(0.0, span[1] - due)
        if late > allowed:
            found.append(f"its answer was {late:.2f} s late, and {allowed:.2f} s are allowed")
    return found


Span = tuple[float, float]
"""When a fault was struck and when it was healed, in seconds since 1970."""


def stored_late(log: Path) -> dict[str, list[tuple[float, float]]]:
    """Per run, when answers were stored and how late: as the platform logged it."""
    found: dict[str, list[tuple[float, float]]] = {}
    for line in log.read_text().splitlines():
        if '"run ended"' in line:
            entry = json.loads(line)
            at = float(entry["at"])
            found.setdefault(entry["run"], []).append((at, float(entry["late_by"])))
    return found


def right_plan(run: Run, arena: Arena) -> list[str]:
    """The plan is one, its value is what it costs, and what is called optimal is."""
    if run.result is None or run.state != "finished":
        return []
    if run.kind == "owners":
        items = _put_together(run, arena)
    elif run.result.plan is None:
        return ["it has no plan"]
    else:
        items = run.result.plan.items
    if sorted(items) != list(range(ROWS)):
        return [f"its plan is none: {items}"]
    costs = run.costs()
    cost = int(costs[np.arange(ROWS), items].sum())
    best = int(costs[linear_sum_assignment(costs)].sum())
    found = []
    if run.result.proved and cost != best:
        found.append(f"its plan costs {cost}, the optimum {best}, and it is called proved")
    plan = run.result.plan
    if plan is not None and plan.values and plan.values[0] not in (None, cost):
        found.append(f"its plan costs {cost} and is said to cost {plan.values[0]}")
    return found


def _put_together(run: Run, arena: Arena) -> list[int]:
    """What the owners read of the plan, row by row."""
    items = [-1] * ROWS
    for name in NAMES:
        shown = participant.result(arena.people[name], run.id)
        for row in range(ROWS)[NAMES.index(name) :: 3]:
            items[row] = shown.own_rows[0][row]
    return items


def logs_bear_it_out(run: Run, arena: Arena, fault: Fault) -> list[str]:
    """A participant finds in the nodes' logs what it signed; answers may lack a proof."""
    if may_have_failed(run, fault):
        return []  # the node that lost what it had promised shows no log of it
    try:
        verdict = participant.check_logs(arena.people[NAMES[0]], run.id)
    except (LogError, InputError, PlatformError) as error:
        return [f"its logs cannot be checked: {error}"]
    bad = [each.detail for each in verdict.findings if not each.ok and not each.unproven]
    # A log that was set back is told by the others, and held against its node alone.
    if fault.party is not None and "set back" in fault.ends_runs:
        words = f"log of {fault.party.name} lacks"
        fault.notes += [f"{run.kind}: {each}" for each in bad if words in each]
        bad = [each for each in bad if words not in each]
    if bad or {each.about for each in verdict.findings} == set():
        return [f"its logs do not bear it out: {'; '.join(bad)}"]
    unproven = [each.detail for each in verdict.findings if each.unproven]
    fault.notes += [f"{run.kind}: not proven: {each}" for each in unproven]
    return []


def one_plan(run: Run, arena: Arena) -> list[str]:
    """No search has two plans: neither in the ledger, nor in what any node sent."""
    with arena.client() as client:
        entries = read_ledger(client.runs.ledger(run.id))
    plans: dict[int, set[str]] = {}
    for entry in entries:
        if isinstance(entry.payload, DisclosedPlan | DisclosedToOwners):
            plans.setdefault(entry.about, set()).add(repr(entry.payload))
    attempts: dict[int, set[str]] = {}
    for _, log in logs_of(run, arena):
        for sent in events_of(Sent, log):
            if sent.kind.opens_plan:
                attempts.setdefault(sent.about, set()).add(repr(sent.attempt))
    found = [f"search {k} has {len(each)} plans" for k, each in plans.items() if len(each) > 1]
    return found + [
        f"nodes opened search {k} from {len(each)} states"
        for k, each in attempts.items()
        if len(each) > 1
    ]


def nobody_named(run: Run, arena: Arena, fault: Fault) -> list[str]:
    """Nobody lied here: nobody is named, and none is given up but the one that was struck."""
    found = []
    for node, log in logs_of(run, arena):
        for event in log:
            if isinstance(event, NodeNamed) or getattr(event, "evidence", None):
                found.append(f"{node.name} has evidence: {event}")
            elif isinstance(event, NodeLost):
                gone = arena.nodes[event.node]
                if not (fault.may_lose_node and gone is fault.party):
                    found.append(f"{node.name} went on without {gone.name}")
            elif getattr(event, "voucher", ""):
                found.append(f"{node.name} saw two nodes contradict each other: {event}")
    return sorted(set(found))


def logs_of(run: Run, arena: Arena) -> Iterator[tuple[Party, list[LogEvent]]]:
    """What each node logged of a run, from its disk."""
    for node in arena.nodes:
        folder = _folder(run, arena, node)
        if folder is not None:
            yield node, verify_log((folder / "log.jsonl").read_bytes())


def _folder(run: Run, arena: Arena, node: Party) -> Path | None:
    signed = arena.people[NAMES[0]].signed_agreement(run.id)
    if signed is None:
        return None
    folder = node.data / folder_name(agreement_hash(signed))
    return folder if folder.exists() else None


def erased(runs: list[Run], arena: Arena, before: set[Path]) -> list[str]:
    """Nodes keep neither keys nor inputs nor shares of runs that have ended.

    `before` are keys that were there before any of these runs.
    """
    until = time.monotonic() + ERASED_SECONDS
    while (left := list(_left(runs, arena, before))) and time.monotonic() < until:
        time.sleep(ASK_EVERY_SECONDS)
    return [f"not erased: {each}" for each in left]


def _left(runs: list[Run], arena: Arena, before: set[Path]) -> Iterator[str]:
    for run in runs:
        for node in arena.nodes:
            folder = _folder(run, arena, node)
            for pattern in ERASED:
                if folder is not None and any(folder.glob(pattern)):
                    yield f"{pattern} of {run.id} at {node.name}"
    for path in sealing_keys(arena) - before:
        yield f"a sealing key, {path.relative_to(arena.cluster)}"


def sealing_keys(arena: Arena) -> set[Path]:
    """The keys that nodes keep, also for agreements that never came."""
    return {path for node in arena.nodes for path in (node.data / SEALING_KEYS).iterdir()}


def nothing_left_behind(known: list[Run], others: set[str], arena: Arena) -> list[str]:
    """The platform has no run that is neither a draft nor ended, and none that nobody knows."""
    with arena.client() as client:
        listed = client.runs.all()
    names = {run.id for run in known}
    return [
        f"{each.id} is {each.state}"
        for each in listed
        if each.id not in others
        and each.state != "draft"
        and (not each.has_ended or each.id not in names)
    ]


class Sizes:
    """Memory and disk of every party: the most that was seen."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self.megabytes: dict[str, float] = {}
        self.begun = {party.name: used_bytes(party.data) for party in arena.parties}
        self.kilobytes_per_run: dict[str, float] = {}

    def look(self) -> None:
        """Take a sample of the memory."""
        for party in self._arena.parties:
            pid = party.process.pid
            size = None if pid is None else resident_megabytes(pid)
            if size is not None:
                self.megabytes[party.name] = max(self.megabytes.get(party.name, 0.0), size)

    def check(self, runs: int) -> list[str]:
        """Say which party takes more than it may after so many runs."""
        found = []
        for party in self._arena.parties:
            grown = used_bytes(party.data) - self.begun[party.name]
            self.kilobytes_per_run[party.name] = grown / 1000 / max(runs, 1)
            if grown / 1000 > MOST_KILOBYTES + runs * MOST_KILOBYTES_PER_RUN:
                found.append(f"{party.name} has {grown / 1e6:.1f} MB more after {runs} runs")
            most = MOST_NODE_MEGABYTES
            if party is self._arena.platform:
                most = MOST_PLATFORM_MEGABYTES
            if self.megabytes.get(party.name, 0.0) > most:
                found.append(f"{party.name} has {self.megabytes[party.name]:.0f} MB in memory")
        return found


def check_run(run: Run, arena: Arena, fault: Fault, waits: CpuWaits, span: Span) -> list[str]:
    """All that must hold of one run."""
    checks: list[Callable[[], list[str]]] = [
        lambda: ended(run, fault),
        lambda: punctual(run, arena, fault, waits, span),
        lambda: right_plan(run, arena),
        lambda: one_plan(run, arena),
        lambda: nobody_named(run, arena, fault),
        lambda: logs_bear_it_out(run, arena, fault),
    ]
    found = []
    for check in checks:
        try:
            found += check()
        except (OSError, LogError, OverloadedError, UnreachableError) as error:
            found.append(f"it cannot be checked: {type(error).__name__}: {error}")
    name = f"{run.id or 'no run'} ({run.kind})"
    return [f"{name}: {what}" for what in found]
