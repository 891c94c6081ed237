"""Build the frame of every page: header, navigation, buttons, dialogs and errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from nicegui import ui
from nicegui.element import Element

from tacit.client import Role
from tacit.errors import CredentialError, ServiceError
from tacit.service.background import Background
from tacit.service.dashboard.sessions import ApiClient, BrowserSession
from tacit.service.dashboard.words import sentence
from tacit.service.storage.events import Announcer

Kind = Literal["main", "plain", "danger"]
STYLE = Path(__file__).parent / "style.css"
ACCENT = "#0b6477"
FOCUS_UNLESS_ELSEWHERE = """
  if (!document.activeElement?.matches('input, textarea, [role=checkbox]'))
    runMethod(%d, 'focus', []);
"""


@dataclass(frozen=True)
class Visitor:
    """Somebody who is signed in."""

    account: str
    role: Role
    session: BrowserSession
    api: ApiClient
    background: Background
    """Where files that it gives are read."""
    announcer: Announcer
    """Whose newest event says whether what is shown has to be fetched again."""

    @property
    def is_operator(self) -> bool:
        return self.role == "operator"


@contextmanager
def page_frame(title: str, visitor: Visitor, /, *, here: str = "") -> Iterator[Element]:
    """Make the frame of a page; elements made inside go into its main part."""
    ui.page_title(f"{title} · tacit")
    ui.colors(primary=ACCENT)
    with ui.element("header").classes("top"), ui.element("div").classes("top-inner"):
        ui.link("tacit", "/").classes("brand").props('aria-label="tacit, list of runs"')
        _way_around(visitor, here)
    main = ui.element("main").classes("page")
    ui.skip_link("Skip to the content", target=main)
    with main:
        yield main


def _way_around(visitor: Visitor, here: str) -> None:
    places = [("/", "Runs"), ("/series", "Series"), ("/nodes", "Nodes")]
    if visitor.is_operator:
        places += [("/new", "New run"), ("/people", "People")]
    with ui.element("nav").props('aria-label="Main"').classes("way-around"):
        for path, name in places:
            link = ui.link(name, path)
            if path == here:
                link.props('aria-current="page"')
    with ui.element("div").classes("visitor"):
        ui.link(visitor.account, "/access").props(
            f'aria-label="Your access: {visitor.account}, {visitor.role}"'
        )
        with ui.element("form").props('method="post" action="/sign-out"'):
            native("button", "Sign out").props('type="submit"').classes("quiet")


def native(tag: str, text: str = "", /) -> ui.label:
    """Make a plain HTML element with text in it."""
    element = ui.label(text)
    element.tag = tag
    return element


def html(content: str = "", /) -> ui.html:
    """Show markup in which everything from outside is escaped already."""
    return ui.html(content, sanitize=False)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], label: str, /) -> str:
    """Make a table whose cells are markup already. The first cell of each row is its head."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<table class="data"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def hint(text: str, /) -> str:
    return f'<p class="hint">{escape(text)}</p>'


def sentences_list(sentences: Sequence[str], /, *, classes: str = "") -> str:
    items = "".join(f"<li>{escape(each)}</li>" for each in sentences)
    return f'<ul class="sentences {classes}">{items}</ul>'


def terms_markup(items: Sequence[tuple[str, str]], /) -> str:
    cells = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in items)
    return f'<dl class="terms">{cells}</dl>'


def mark(is_done: bool | None, text: str, /) -> str:
    """Make a sign with a word that show how far something is."""
    kind, sign = {True: ("tick", "●"), False: ("open", "○"), None: ("mid", "◐")}[is_done]
    return f'<span class="mark {kind}"><span aria-hidden="true">{sign}</span> {escape(text)}</span>'


def nothing_yet(lines: Sequence[str], link: tuple[str, str] | None = None, /) -> None:
    """Say that a list is empty, with a link to what fills it."""
    with ui.element("div").classes("empty"):
        for line in lines:
            native("p", line)
        if link is not None:
            ui.link(*link).classes("main-button")


def section(title: str, /, *, classes: str = "") -> Element:
    """Make a card with a heading; use it with `with`."""
    card = ui.element("section").classes(f"card {classes}")
    with card:
        native("h2", title)
    return card


def show_error(error: ServiceError, /) -> None:
    if isinstance(error, CredentialError):
        ui.navigate.to("/sign-in?why=expired")
        return
    show_problem(str(error))


def show_problem(text: str, /) -> None:
    """Show a message until it is closed."""
    ui.notify(sentence(text), type="negative", timeout=0, close_button="Close", multi_line=True)


def button(text: str, act: Callable[[], Awaitable[None]], /, *, kind: Kind = "plain") -> ui.button:
    """Make a button that waits for what it does, works once at a time, and shows refusals."""
    # Dialogs and messages belong to the page: what is done may well remove the button.
    page = ui.context.client.content

    async def clicked() -> None:
        if not pressed.enabled:
            # The second half of a double click, sent before the browser knew.
            return
        # Until the server has answered: a second click would do it twice.
        pressed.disable()
        with page:
            try:
                await act()
            except ServiceError as error:
                show_error(error)
            finally:
                if not pressed.is_deleted:
                    pressed.enable()

    looks = "unelevated" if kind == "main" else "outline"
    colour = None if kind == "danger" else "primary"
    pressed = ui.button(text, on_click=clicked, color=colour).props(f"no-caps {looks}")
    return pressed.classes(kind)


def focus_on(field: Element, /) -> None:
    """Move the focus to a field that is to be corrected.

    Not if somebody has gone to another field meanwhile: what is typed there would end up here.
    """
    ui.run_javascript(FOCUS_UNLESS_ELSEWHERE % field.id)


def file_link(run_id: str, name: str, text: str, /) -> ui.link:
    """A link to a file that the platform answers as an attachment, so that browsers save it.

    It has no attribute `download`. With it a browser saves any answer, such as the sign-in page in
    place of the file, and shows no refusal. And Chromium does not apply a certificate that was
    accepted in spite of its warning, so the download fails once the page's connections have ended.
    """
    return ui.link(text, f"/runs/{run_id}/files/{name}")


def link_button(text: str, path: str, /, *, label: str = "") -> ui.link:
    """Make a link that looks like a button; `label` is for screen readers."""
    link = ui.link(text, path).classes("link-button")
    if label:
        # Set as it is: a name in it may have quotes.
        link.props["aria-label"] = label
    return link


async def confirmed(title: str, text: str, /, *, do: str, danger: bool = False) -> bool:
    with ui.dialog() as dialog, ui.element("div").classes("dialog"):
        native("h2", title)
        native("p", text)
        with ui.element("div").classes("actions"):
            ui.button("Back", on_click=lambda: dialog.submit(False)).props("no-caps flat autofocus")
            sure = ui.button(do, on_click=lambda: dialog.submit(True), color=None)
            sure.props("no-caps unelevated").classes("danger-fill" if danger else "main")
    # The second half of a slow double click falls beside the dialog, and must not close it.
    dialog.props(f'aria-label="{title}" no-backdrop-dismiss')
    return bool(await _answer_of(dialog))


async def _answer_of(dialog: ui.dialog) -> object:
    """Wait for the answer to a dialog and remove it; None if its page was closed meanwhile."""
    answer: object = await dialog
    # With a page that is closed its dialogs are removed already, which works only once.
    if not dialog.is_deleted:
        dialog.delete()
    return answer


async def show_codes(
    title: str,
    text: str,
    codes: dict[str, str],
    /,
    *,
    file: Callable[[str], Awaitable[bytes]] | None = None,
) -> None:
    """Show one-time codes, each with a button that copies it.

    `file` makes an invitation file for a name, which has a code in place of the one shown.
    """
    with ui.dialog().props("persistent") as dialog, ui.element("div").classes("dialog"):
        native("h2", title)
        native("p", text)
        with ui.element("dl").classes("codes"):
            for name, code in codes.items():
                native("dt", name)
                with ui.element("dd"):
                    shown = native("code", code)
                    copy = _copy_button(code, f"Copy the code of {name}")
                    if file is not None:
                        _file_button(name, file, shown, copy)
        with ui.element("div").classes("actions"):
            done = "I have them" if len(codes) > 1 else "I have it"
            ui.button(done, on_click=lambda: dialog.submit(True)).props(
                "no-caps unelevated autofocus"
            )
    dialog.props(f'aria-label="{title}"')
    await _answer_of(dialog)


def _file_button(
    name: str, file: Callable[[str], Awaitable[bytes]], code: ui.label, copy: ui.button
) -> None:
    async def fetched() -> None:
        content = await file(name)
        code.set_text("in the file")
        copy.set_visibility(False)
        ui.download.content(content, f"{name}.tacit")

    button("File", fetched).props(f'flat dense aria-label="Download the invitation of {name}"')


def _copy_button(text: str, label: str) -> ui.button:
    def copied() -> None:
        ui.clipboard.write(text)
        ui.notify("Copied", type="positive", timeout=1500)

    return ui.button("Copy", on_click=copied).props(f'no-caps flat dense aria-label="{label}"')
