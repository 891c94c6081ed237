"""Series of runs, through the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tacit.client.connection import Connection
from tacit.client.shapes import RunView, SeriesSummary, SeriesView


class SeriesOfRuns:
    """What can be done with series: `client.series`."""

    def __init__(self, connection: Connection, /) -> None:
        self._connection = connection

    def all(self) -> list[SeriesSummary]:
        """All series that this account may see, the newest first."""
        return self._connection.get("/series", list[SeriesSummary])

    def show(self, series: str, /) -> SeriesView:
        """A series with its members and runs."""
        return self._connection.get(_at(series), SeriesView)

    def new(self, terms: Mapping[str, Any], /) -> SeriesView:
        """Create a series and invite its participants; new ones have a code, shown once."""
        return self._connection.post("/series", terms, SeriesView)

    def document(self, series: str, /) -> bytes:
        """The series, byte for byte as it is signed."""
        return self._connection.send("GET", _at(series, "document"))

    def sign(self, series: str, signature: bytes, /) -> SeriesView:
        """Hand in one's signature under the series."""
        body = {"signature": signature.hex()}
        return self._connection.post(_at(series, "signature"), body, SeriesView)

    def next_run(
        self, series: str, changes: Mapping[str, Any] | None = None, /, *, start: bool = True
    ) -> RunView:
        """The next run: a copy of the last one, with what is different."""
        body = {**(changes or {}), "start": start}
        return self._connection.post(_at(series, "runs"), body, RunView)

    def end(self, series: str, /, *, reason: str = "") -> SeriesView:
        """Make no more runs of it; what runs goes on."""
        body = {"reason": reason} if reason else {}
        return self._connection.post(_at(series, "end"), body, SeriesView)


def _at(series: str, what: str = "") -> str:
    return f"/series/{quote(series, safe='')}" + (f"/{what}" if what else "")
