"""A place for a file: dropped there, or chosen by a button. What is wrong is said beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nicegui import events, ui

from tacit.errors import TacitError
from tacit.service.dashboard.frame import native
from tacit.service.dashboard.words import sentence

MOST_UPLOADED = 16_000_000
DROPPED = """(event) => {
  event.preventDefault();
  event.currentTarget.classList.remove('over');
  const uploader = getElement(%d).$refs.qRef;
  if (event.dataTransfer.files.length) uploader.addFiles([event.dataTransfer.files[0]]);
}"""
OVER = "(event) => { event.preventDefault(); event.currentTarget.classList.add('over'); }"
LEFT = "(event) => event.currentTarget.classList.remove('over')"


class DropZone:
    """Takes one file at a time; `take` reads it in a thread and says what was found in it."""

    def __init__(
        self,
        title: str,
        explained: str,
        take: Callable[[bytes], str],
        /,
        *,
        ending: str,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        """`ending` is that of files which are taken, such as .csv; `after` is called when one was.

        A file that `take` refuses, by an error of tacit's, changes nothing.
        """
        self._take, self._after = take, after
        with ui.element("div").classes("drop") as self.box:
            self._title = native("strong", title)
            self._explained = native("p", explained).classes("hint")
            upload = ui.upload(
                auto_upload=True,
                max_file_size=MOST_UPLOADED,
                on_upload=self._uploaded,
                on_rejected=lambda: self._say(f"This is no {ending} file, or is too large", False),
            ).props(f'accept="{ending}"')
            # Its own buttons have no names for screen readers; this one has. Hidden by
            # style alone, since nothing can be uploaded to what is invisible to the server.
            upload.style("display: none")
            self._upload = upload
            self._choose = (
                ui.button(f"Choose a {ending} file")
                .props("no-caps outline")
                .on("click", js_handler=f"() => getElement({upload.id}).$refs.qRef.pickFiles()")
            )
            self._ending = ending
            self.explain(explained, title)
            native("span", "or drop it here").classes("hint")
            self._said = native("p").props('role="status"').classes("said")
            self._said.set_visibility(False)
        self.box.on("dragover", js_handler=OVER)
        self.box.on("dragleave", js_handler=LEFT)
        self.box.on("drop", js_handler=DROPPED % upload.id)

    def explain(self, text: str, title: str | None = None, /) -> None:
        """Say what belongs here, under another title if one is given."""
        self._explained.set_text(text)
        if title is not None:
            self._title.set_text(title)
            self._choose.props(f'aria-label="{title}: choose a {self._ending} file"')

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        self._upload.reset()
        try:
            content = await event.file.read()
            said = await asyncio.to_thread(self._take, content)
        except TacitError as error:
            self._say(str(error), False)
            return
        self._say(said, True)
        self._after()

    def _say(self, text: str, is_good: bool) -> None:
        self._said.set_visibility(True)
        self._said.set_text(sentence(text))
        self._said.classes(replace="said good" if is_good else "said problem")
        self._said.props(f'role="{"status" if is_good else "alert"}"')
