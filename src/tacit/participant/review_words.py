"""A review for somebody at a desk: who learns what, how much, by when, and whose keys these are."""

from __future__ import annotations

import time
from typing import Any

from tacit.agreement import BROKEN, loss_words, promise_of
from tacit.identity import key_fingerprint
from tacit.participant.account.trust import node_address
from tacit.participant.costs import show_rows
from tacit.participant.explanations import SearchWords, equity_words, plan_words, search_words
from tacit.participant.forbidden_words import forbidden_lines
from tacit.participant.reviewing import Review
from tacit.plain_text import plain_line
from tacit.problems import Problem, unscaled_text

MOST_RULES = MOST_NUMBERS = 20


def review_lines(review: Review, /) -> list[str]:
    """A review in plain words, line by line."""
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
    lines = [f"Run {review.run.id}, {review.run.name} ({review.run.state})"]
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
        loss_words(nodes, review.agreement.on_loss),
        BROKEN,
        *plan_words(review.agreement),
        "All of it adds up if you give the same costs to another run.",
    ]


def _limits(review: Review, words: SearchWords) -> list[str]:
    limits, forbidden = review.agreement.limits, review.agreement.problem.forbidden
    seconds = review.run.deadline_seconds
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
    return lines + [f"  {line}" for line in _some(_forbidden(review))]


def _kind_lines(problem: Problem) -> list[str]:
    """What kind of problem it is, with the public numbers that decide which plans there are."""
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


def _some(lines: list[str]) -> list[str]:
    """As many as somebody reads; --json has all."""
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
    states = {member.name: member for member in review.run.members}
    lines = []
    width = max(len(each.name) for each in review.agreement.participants)
    for each in review.agreement.participants:
        member = states.get(each.name)
        signed = ", has signed (says the platform)" if member is not None and member.signed else ""
        you = " (you)" if each.name == review.account else ""
        lines.append(f"{each.name:{width}}  {key_fingerprint(each.signing_key)}{you}{signed}")
    return lines


def review_json(review: Review, /) -> dict[str, Any]:
    """A review as JSON."""
    agreement, words = review.agreement, search_words(review.agreement)
    return {
        "run": review.run.id,
        "name": review.run.name,
        "state": review.run.state,
        "agreement": review.hash,
        "account": review.account,
        "rows": review.own_rows,
        "disclosed": words.disclosed,
        "inferred": words.inferred,
        "deadline_seconds": review.run.deadline_seconds,
        "limits": agreement.limits,
        "kind": agreement.problem.kind,
        "version": agreement.known_problem.version,
        "data": agreement.known_problem.data,
        "symmetric": agreement.problem.symmetric,
        "forbidden": agreement.problem.forbidden,
        "search": agreement.search,
        "promise": promise_of(len(agreement.nodes)),
        "on_loss": agreement.on_loss,
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
