"""Show a visitor's own access, and to operators everybody's: invite, invite again, revoke."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from tacit.client import (
    MOST_LISTED,
    AccountView,
    InvitedAccount,
    NewAccount,
    Page,
    Role,
)
from tacit.names import checked_name
from tacit.service.dashboard.fields import choice
from tacit.service.dashboard.frame import (
    Visitor,
    button,
    confirmed,
    focus_on,
    native,
    page_frame,
    section,
    show_codes,
)
from tacit.service.dashboard.words import moment

WRONG_NAME = "Use letters, digits, . _ - and no spaces; begin with a letter or a digit"
CODE_TEXT = (
    "The code works once and is not shown again. Hand it over by a way that you trust, such as a "
    "telephone call."
)


def wrong_name(name: str | None, /) -> str | None:
    """Return what is wrong with the name of an account, or nothing.

    >>> wrong_name("north.1"), wrong_name("a b")
    (None, 'Use letters, digits, . _ - and no spaces; begin with a letter or a digit')
    """
    if not (name or "").strip():
        return "Give a name"
    try:
        checked_name((name or "").strip())
    except ValueError:
        return WRONG_NAME
    return None


async def people_page(visitor: Visitor, /) -> None:
    with page_frame("People", visitor, here="/people"):
        native("h1", "People")
        people = _People(visitor)
        await people.refresh()
        people.invitation_form()


class _People:
    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._box = ui.element("div")

    async def refresh(self) -> None:
        path = f"/accounts?limit={MOST_LISTED}"
        accounts = await self._visitor.api.get(path, Page[AccountView])
        self._box.clear()
        with self._box, ui.element("ul").classes("people"):
            for account in accounts.items:
                with ui.element("li"):
                    self._account(account)

    def _account(self, account: AccountView) -> None:
        name = account.name
        with ui.element("div").classes("person"):
            native("span", name).classes("run-name")
            what = str(account.role)
            if what == "participant":
                what += ", has joined" if account.joined else ", has not joined yet"
            native("span", what).classes("run-detail")
        with ui.element("div").classes("actions"):
            button("New code", partial(self._invite, name)).props(
                f'aria-label="New code for {name}"'
            )
            # Nobody locks themselves out by a slip.
            if name != self._visitor.account:
                revoke = button("Revoke", partial(self._revoke, name), kind="danger")
                revoke.props(f'aria-label="Revoke {name}"')

    async def _invite(self, name: str) -> None:
        invited = await self._visitor.api.post(f"/accounts/{name}/invitation", None, InvitedAccount)
        await show_codes("A new code", CODE_TEXT, {name: invited.invitation})

    async def _revoke(self, name: str) -> None:
        text = f"{name} is signed out everywhere at once, and needs a new code to come back."
        if await confirmed(f"Revoke the access of {name}?", text, do="Revoke", danger=True):
            await self._visitor.api.delete(f"/accounts/{name}")
            await self.refresh()
            ui.notify(f"{name} has no access any more.", type="positive")

    def invitation_form(self) -> None:
        with section("Invite somebody"), ui.element("div").classes("fields"):
            name = ui.input("Name", validation=wrong_name).props(
                'outlined dense hint="letters, digits, . _ -"'
            )
            roles: dict[Role, str] = {
                "viewer": "Viewer",
                "operator": "Operator",
                "participant": "Participant",
            }
            role = choice("Role", roles, "viewer")

            async def invite() -> None:
                if not name.validate():
                    focus_on(name)
                    return
                body = NewAccount((name.value or "").strip(), role.value)
                invited = await self._visitor.api.post("/accounts", body, InvitedAccount)
                name.value = ""
                name.error = None
                await self.refresh()
                await show_codes("Invited", CODE_TEXT, {invited.name: invited.invitation})

            button("Invite", invite, kind="main")


async def access_page(visitor: Visitor, /) -> None:
    with page_frame("Your access", visitor):
        _access(visitor)


def _access(visitor: Visitor) -> None:
    native("h1", "Your access")
    what = {
        "operator": "You may create runs, invite, cancel and resume.",
        "participant": "You see the runs that you take part in. To review, sign and submit, use "
        "tacit participant on your own computer, where your key and your costs stay.",
        "viewer": "You may look at all runs, and change nothing.",
    }[visitor.role]
    with section(f"{visitor.account}, {visitor.role}"):
        native("p", what)
        native("p", f"Valid until {moment(visitor.session.expires)}.")
    with section("Your token") as card:
        if visitor.session.is_kept:
            _token_is_kept()
            return
        native(
            "p",
            "You signed in with a one-time code, which is used up. A token lets you in again: "
            "after signing out, or on another device. It is shown once; keep it like a password. "
            "Without it, signing out ends your access until you get a new code.",
        )

        async def show() -> None:
            token = await visitor.session.keep()
            if token is not None:
                text = "It is not shown again. Whoever has it has your access."
                await show_codes("Your token", text, {visitor.account: token})
            card.clear()
            with card:
                native("h2", "Your token")
                _token_is_kept()

        with ui.element("div").classes("actions"):
            button("Show the token", show, kind="main")


def _token_is_kept() -> None:
    native(
        "p",
        "You have it; it is not shown again, and stays valid after you sign out. If you lose it, "
        "ask an operator for a new code, and to revoke your access first if somebody may have it.",
    )
