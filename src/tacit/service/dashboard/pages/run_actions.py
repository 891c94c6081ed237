"""What an operator can do with a run in its state: invite, cancel, resume, delete a draft."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from nicegui import ui

from tacit.client import InvitationFile, RunView
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    confirmed,
    link_button,
    show_codes,
)

CODES = (
    "Each works once and is not shown again. A file has the address, the certificate and a code of "
    "its own, which then takes the place of the one shown. Hand each participant its own by a way "
    "that you trust; it joins with: tacit participant join NAME.tacit. It signs only keys that it "
    "has pinned (tacit participant trust): participants give each other theirs, and the nodes' "
    "operators give theirs to all of them, not by way of this platform."
)
BEFORE_THE_END = ("invited", "agreed", "submitted", "running")


async def show_invitations(
    codes: dict[str, str], /, *, file: Callable[[str], Awaitable[bytes]] | None = None
) -> None:
    """Show the codes of those who are new, or say that nobody is."""
    if codes:
        await show_codes("Invitation codes", CODES, codes, file=file)
    else:
        ui.notify("All participants have joined before and see it now.", type="positive")


class RunActions:
    """A line of buttons; those that a state does not allow are not there."""

    def __init__(
        self, visitor: Visitor, run_id: str, look_again: Callable[[], Awaitable[None]], /
    ) -> None:
        self._api, self._path, self._look_again = visitor.api, f"/runs/{run_id}", look_again
        self._is_operator = visitor.is_operator
        self._state = ""
        self._line = ui.element("div").classes("actions")

    def show(self, run: RunView, /) -> None:
        """Offer what the run's state allows."""
        if not self._is_operator or run.state == self._state:
            return
        self._state = run.state
        self._line.clear()
        with self._line:
            if run.state == "draft":
                button("Invite participants", self._invite, kind="main")
                link_button("Edit", f"{self._path}/edit")
                button("Delete", self._delete, kind="danger")
            elif run.state in BEFORE_THE_END:
                button("Cancel the run", self._cancel, kind="danger")
            elif run.state == "interrupted":
                button("Resume", self._resume, kind="main")
            link_button("Copy", f"{self._path}/copy")
            link_button("Make a series of it", f"{self._path}/series")

    async def _invite(self) -> None:
        text = "From now on its terms are fixed. Participants can review and sign them."
        if not await confirmed("Invite the participants?", text, do="Invite"):
            return
        run = await self._api.post(f"{self._path}/invite", None, RunView)
        await show_invitations(run.invitations, file=self._invitation)
        await self._look_again()

    async def _invitation(self, name: str) -> bytes:
        """An invitation file, as `tacit run invite` writes it."""
        path = f"{self._path}/invitations/{quote(name, safe='')}"
        return (await self._api.post(path, None, InvitationFile)).as_file()

    async def _cancel(self) -> None:
        text = "It ends for everybody and cannot go on. If it has a best plan so far, that is kept."
        if await confirmed("Cancel this run?", text, do="Cancel the run", danger=True):
            await self._api.post(f"{self._path}/cancel", None, RunView)
            await self._look_again()

    async def _resume(self) -> None:
        text = "It resumes where it stopped, as soon as nodes are free, with a new deadline."
        if await confirmed("Resume this run?", text, do="Resume"):
            await self._api.post(f"{self._path}/resume", None, RunView)
            await self._look_again()

    async def _delete(self) -> None:
        text = "Nobody has been invited yet."
        if await confirmed("Delete this draft?", text, do="Delete", danger=True):
            await self._api.delete(self._path)
            ui.navigate.to("/")
