"""A link to a file of a run."""

from __future__ import annotations

from nicegui import ui


def file_link(run_id: str, name: str, text: str, /) -> ui.link:
    """A link to a file that the platform answers as an attachment, so that browsers save it.

    It has no attribute `download`. With it a browser saves any answer, such as the sign-in page in
    place of the file, and shows no refusal. And Chromium does not apply a certificate that was
    accepted in spite of its warning, so the download fails once the page's connections have ended.
    """
    return ui.link(text, f"/runs/{run_id}/files/{name}")
