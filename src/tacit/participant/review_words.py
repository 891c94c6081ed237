"""Print a review: who learns what, how much, by when, and whose keys these are."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from tacit.agreement import BROKEN, loss_words, promise_of
from tacit.identity import key_fingerprint
from tacit.participant.costs import show_rows
from tacit.participant.explanations import SearchWords, equity_words, plan_words, search_words
from tacit.participant.reviewing import Review
from tacit.participant.trust import node_address
from tacit.plain_text import plain_line
from tacit.problems import Problem, unscaled_text

Run = tuple[int, int]
"""The first and the last of columns that stand side by side."""

TIME = re.compile(r"(\d{1,2}):(\d{2})")
MOST_ROWS, MOST_RUNS = 8, 6


def forbidden_lines(
    pairs: Iterable[tuple[int, int]],
    rows: Sequence[str],
    columns: Sequence[str],
    own: Collection[int],
    /,
) -> list[str]:
    """One line for all rows with the same rule; the reader's own rows come first.

    >>> slots = ["7:30", "7:40", "7:50", "8:00"]
    >>> pairs = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 3)]
    >>> forbidden_lines(pairs, ["F0", "F1", "F2"], slots, {1})
    ['F1 (yours): not before 7:40', 'F0: not before 7:40', 'F2: only 7:50']
    >>> forbidden_lines([(0, 0), (0, 1)], ["F0"], ["gate A", "gate B", "gate C", "gate D"], ())
    ['F0: not gate A, gate B']
    """
    by_row: dict[int, set[int]] = defaultdict(set)
    for row, column in pairs:
        by_row[row].add(column)
    alike: dict[tuple[bool, str], list[str]] = defaultdict(list)
    are_times = _are_times(columns)
    for row in sorted(by_row):
        rule = _rule(by_row[row], columns, are_times=are_times)
        alike[row not in own, rule].append(rows[row])
    return [
        f"{_some(names, MOST_ROWS)}{'' if others else ' (yours)'}: {rule}"
        for (others, rule), names in sorted(alike.items(), key=lambda each: each[0][0])
    ]


def _rule(forbidden: set[int], columns: Sequence[str], *, are_times: bool) -> str:
    """The shorter of what a row may not take and what it may."""
    last = len(columns) - 1
    banned, free = (
        list(_runs(sorted(each))) for each in (forbidden, {*range(len(columns))} - forbidden)
    )
    if are_times and banned == [(0, banned[0][1])] and free:
        return f"not before {columns[free[0][0]]}"
    if are_times and banned == [(banned[0][0], last)] and free:
        return f"not after {columns[free[-1][1]]}"
    if _length(free) < _length(banned):
        return f"only {_listed(free, columns)}" if free else "no column at all"
    return f"not {_listed(banned, columns)}"


def _length(runs: list[Run]) -> int:
    # However long a run is, it is written as its first and its last column.
    return sum(min(last - first + 1, 2) for first, last in runs)


def _listed(runs: list[Run], columns: Sequence[str]) -> str:
    named: list[str] = []
    for first, last in runs:
        if last - first < 2:
            named += columns[first : last + 1]
        else:
            named.append(f"{columns[first]} to {columns[last]}")
    return _some(named, MOST_RUNS)


def _runs(columns: list[int]) -> Iterable[Run]:
    """Columns that follow each other, as first and last."""
    start = columns[:1]
    for before, column in pairwise(columns):
        if column != before + 1:
            yield start[0], before
            start = [column]
    if columns:
        yield start[0], columns[-1]


def _are_times(columns: Sequence[str]) -> bool:
    """Return whether columns are times of a day in ascending order, so that "before" applies."""
    found = [TIME.fullmatch(name) for name in columns]
    minutes = [int(each[1]) * 60 + int(each[2]) for each in found if each is not None]
    return len(minutes) == len(columns) and all(a < b for a, b in pairwise(minutes))


def _some(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more, see --json" if more > 0 else "")


MOST_RULES = MOST_NUMBERS = 20


def review_lines(review: Review, /) -> list[str]:
    words = search_words(review.agreement)
    sections = {
        "You": _own(review),
        "What the platform learns, and with it all participants (the ledger is open to them)": (
            words.disclosed
        ),
        "What nodes and others learn": _others(review, words),
        "How much can be inferred from it": words.inferred,
        "What is counted over the runs of the series": equity_words(review.agreement),
        "Limits": _limits(review, words),
        "The search that the platform promises to follow": _search(review, words),
        "Nodes": _nodes(review),
        "Participants": _participants(review),
    }
    lines = [f"Run {review.id}, {review.name} ({review.state})"]
    lines.append(f"Agreement {review.hash}")
    for title, content in sections.items():
        if not content:
            continue
        lines += ["", title, *(f"  {line}" for line in content)]
    lines += ["", *(f"Note: {warning}" for warning in review.warnings)]
    lines += [f"DO NOT SIGN: {refusal}" for refusal in review.refusals]
    lines += [f"Your file: {fault}" for fault in review.costs_faults]
    if review.costs_fit:
        lines.append(f"Your file fits {review.costs_fit!r}")
    # Names come from the platform: control characters could hide a refusal from the reader.
    return [plain_line(line, longest=2000) for line in lines]


def _own(review: Review) -> list[str]:
    agreement, problem = review.agreement, review.agreement.problem
    lines = [f"{review.account}, one of {len(agreement.participants)} participants"]
    for name, rows in review.own_rows.items():
        terms = next(each for each in agreement.objectives if each.name == name)
        most = unscaled_text(terms.weight_bound, terms.scale)
        lines.append(
            f"{name!r} ({terms.sense}): {len(rows)} of {problem.rows} rows are yours "
            f"({show_rows(agreement, rows)}), {problem.columns} numbers from 0 to {most} each"
        )
    lines += [
        f"{terms.name!r} ({terms.sense}) is public: everybody knows its weights"
        for terms in agreement.objectives
        if not terms.confidential
    ]
    return lines


def _others(review: Review, words: SearchWords) -> list[str]:
    nodes = len(review.agreement.nodes)
    return [
        words.node,
        promise_of(nodes),
        loss_words(nodes, review.agreement.on_loss, grace=review.agreement.grace_seconds),
        BROKEN,
        *plan_words(review.agreement),
        "All of it adds up if you give the same costs to another run.",
    ]


def _limits(review: Review, words: SearchWords) -> list[str]:
    limits, forbidden = review.agreement.limits, review.agreement.problem.forbidden
    seconds = review.deadline_seconds
    lines = []
    if seconds is not None:
        lines.append(
            f"deadline: {seconds:g} s after the start (the platform's word, not in the agreement)"
        )
    left = (limits.expires - time.time()) / 3600
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(limits.expires))
    lines.append(f"after {until} (in {left:.1f} hours) the nodes evaluate nothing more")
    lines += words.limits
    lines += _kind_lines(review.agreement.known_problem)
    if not forbidden:
        return [*lines, "no pair of a row and a column is forbidden"]
    lines.append(f"forbidden pairs of a row and a column, {len(forbidden):,} in all:")
    return lines + [f"  {line}" for line in _first_rules(_forbidden(review))]


def _kind_lines(problem: Problem) -> list[str]:
    """Describe the kind of problem, with the public numbers that decide which plans exist."""
    lines = [f"kind of problem: {problem.kind}, version {problem.version}"]
    for name, given in problem.data.items():
        numbers = [given] if isinstance(given, int) else given
        shown = ", ".join(map(str, numbers[:MOST_NUMBERS]))
        more = len(numbers) - MOST_NUMBERS
        lines.append(f"{name}: {shown}" + (f" and {more:,} more, see --json" if more > 0 else ""))
    if problem.between_places:
        both = "count as one plan" if problem.is_symmetric else "are two plans"
        lines.append(f"the same way in both directions: {both}")
    return lines


def _forbidden(review: Review) -> list[str]:
    rows, columns = review.agreement.known_problem.labels
    own = {row for rows in review.own_rows.values() for row in rows}
    return forbidden_lines(review.agreement.problem.forbidden, rows, columns, own)


def _first_rules(lines: list[str]) -> list[str]:
    """Limit the rules to a readable number; --json has all."""
    left = len(lines) - MOST_RULES
    return lines if left <= 0 else [*lines[:MOST_RULES], f"and {left:,} more rules, see --json"]


def _search(review: Review, words: SearchWords) -> list[str]:
    search = review.agreement.search
    seed = "seed drawn by the nodes" if search.seed is None else f"seed {search.seed}"
    lines = [f"{search.algorithm}, {seed}; {words.checked}"]
    return lines + [f"{name}: {value}" for name, value in sorted(search.parameters.items())]


def _nodes(review: Review) -> list[str]:
    lines = []
    for number, node in enumerate(review.agreement.nodes):
        lines.append(f"node {number} at {node_address(node)}")
        lines.append(f"  signs  {key_fingerprint(node.signing_key)}")
    return lines


def _participants(review: Review) -> list[str]:
    states = {member.name: member for member in review.members}
    lines = []
    width = max(len(each.name) for each in review.agreement.participants)
    for each in review.agreement.participants:
        member = states.get(each.name)
        signed = ", has signed (says the platform)" if member is not None and member.signed else ""
        you = " (you)" if each.name == review.account else ""
        lines.append(f"{each.name:{width}}  {key_fingerprint(each.signing_key)}{you}{signed}")
    return lines


def review_json(review: Review, /) -> dict[str, Any]:
    agreement, words = review.agreement, search_words(review.agreement)
    return {
        "run": review.id,
        "name": review.name,
        "state": review.state,
        "agreement": review.hash,
        "account": review.account,
        "rows": review.own_rows,
        "disclosed": words.disclosed,
        "inferred": words.inferred,
        "deadline_seconds": review.deadline_seconds,
        "limits": agreement.limits,
        "kind": agreement.problem.kind,
        "version": agreement.known_problem.version,
        "data": agreement.known_problem.data,
        "symmetric": agreement.problem.symmetric,
        "forbidden": agreement.problem.forbidden,
        "search": agreement.search,
        "promise": promise_of(len(agreement.nodes)),
        "on_loss": agreement.on_loss,
        "grace_seconds": agreement.grace_seconds,
        "plan": agreement.plan,
        "equity": agreement.equity,
        "nodes": [
            {
                "address": node_address(node),
                "signing": key_fingerprint(node.signing_key),
            }
            for node in agreement.nodes
        ],
        "participants": {
            each.name: key_fingerprint(each.signing_key) for each in agreement.participants
        },
        "pinned": review.pinned,
        "may_sign": not review.refusals,
        "refusals": review.refusals,
        "costs_faults": review.costs_faults,
        "warnings": review.warnings,
    }
