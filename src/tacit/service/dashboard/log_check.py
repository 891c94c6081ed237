"""Offer the audit bundle of a run that has ended, and check its logs in another process.

A check repeats the whole search, and the main process has deadlines to keep: one at a time, at low
priority. The platform checks here what it shows itself; participants check on their own machines.
"""

from __future__ import annotations

from html import escape

import msgspec
from nicegui import ui

from tacit.client import ENDS, RunView
from tacit.errors import BusyError, TooManyError
from tacit.service.access.limits import ConcurrencyLimit
from tacit.service.background import Background
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    file_link,
    html,
    mark,
    native,
    section,
    show_problem,
)
from tacit.service.dashboard.words import sentence
from tacit.service.workflow.large_input import verdict_of
from tacit.verify import Finding, Verdict

CHECK_SECONDS = 600.0
_READ_VERDICT = msgspec.json.Decoder(Verdict)


class LogChecks:
    """Checks bundles, one at a time."""

    def __init__(self, background: Background, /) -> None:
        self._background = background
        self._turns = ConcurrencyLimit("checks", at_once=1, each=1, within=30.0)

    async def verdict(self, account: str, packed: bytes, /) -> Verdict:
        async with self._turns.slot(account):
            verdict = await self._background.compute(verdict_of, packed, within=CHECK_SECONDS)
        return _READ_VERDICT.decode(verdict)


WHAT = (
    "The agreement, the nodes' signed logs, everything that was disclosed, and the result: with "
    "them anybody can check that nodes and platform did what was signed."
)
BY_ITSELF = (
    "The platform made this check of what it shows itself. Participants check by themselves, with "
    "tacit participant log, and need not believe it."
)


class RunAudit:
    """A place on the page that stays empty until the run has ended."""

    def __init__(self, visitor: Visitor, run_id: str, checks: LogChecks, /) -> None:
        self._visitor, self._id, self._checks = visitor, run_id, checks
        with section("Audit", classes="wide") as self._box:
            native("p", WHAT)
            with ui.element("div").classes("actions"):
                link = file_link(run_id, "audit.zip", "Download the audit bundle (zip)")
                link.classes("link-button")
                if visitor.is_operator:
                    button("Check the logs", self._check)
            if visitor.role == "participant":
                native("p", "To check it yourself, use tacit participant log.").classes("hint")
            self._result = html().props('role="status"')
        self._box.set_visibility(False)

    def show(self, run: RunView, /) -> None:
        """Show the section for runs that have logs, to those who may have them."""
        # A run that was never agreed on has no logs. The API gives viewers no bundles.
        has_logs = run.state in ENDS and bool(run.agreement_hash)
        self._box.set_visibility(has_logs and self._visitor.role != "viewer")

    async def _check(self) -> None:
        self._result.set_content("<p>The logs are fetched and the search is repeated…</p>")
        verdict = None
        try:
            bundle = await self._visitor.api.fetch(f"/runs/{self._id}/bundle")
            verdict = await self._checks.verdict(self._visitor.account, bundle.content)
        except (BusyError, TooManyError) as error:
            show_problem(str(error))
        finally:
            self._result.set_content("" if verdict is None else verdict_markup(verdict))


def verdict_markup(verdict: Verdict, /) -> str:
    """Make the markup of a verdict. Nodes write some of its words."""
    findings = verdict.findings
    bad = [each for each in findings if not each.ok and not each.unproven]
    if verdict.ok:
        summary, looks = "Everything is as it was signed.", "said good"
    elif bad or not findings:
        summary = "Something is off. Keep the bundle, and talk to the nodes' operators."
        looks = "banner"
    else:
        summary, looks = "Nothing is off, and yet not all is proven.", "banner"
    items = "".join(f"<li>{_finding(each)}</li>" for each in findings)
    notes = "".join(f"<li>{escape(sentence(note))}</li>" for note in verdict.notes)
    return (
        f'<p class="{looks}">{summary}</p><ul class="sentences findings">{items}{notes}</ul>'
        f'<p class="hint">{escape(BY_ITSELF)}</p>'
    )


def _finding(finding: Finding) -> str:
    word = "as it should be" if finding.ok else "not proven" if finding.unproven else "off"
    looks = True if finding.ok else None
    detail = escape(sentence(finding.detail))
    return f'{mark(looks, word)} <span class="finding">{detail}</span>'
