"""The page of the report: lines, tables and pictures, as Markdown and as HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

from tacit.experiments.report.table import ReportTable

STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-size:12px;margin:1rem 0}caption{text-align:left;font-weight:600}
th,td{border:1px solid #ccc;padding:2px 6px;text-align:right}th{background:#f2f2f2}
td:first-child,th:first-child,#table-findings td{text-align:left}.marked{background:#d3d3d3}
.note{font-size:13px;color:#444}.wide{overflow-x:auto}img{max-width:100%}"""

Block = str | ReportTable | tuple[str, str]
"""A line (headings start with #), a table, or a picture's file and caption."""


@dataclass
class ReportPage:
    r"""Blocks of text, tables and pictures, in order.

    >>> ReportPage("Title", ["## Part", "Text."]).markdown()
    '# Title\n\n## Part\n\nText.\n'
    """

    title: str
    blocks: list[Block] = field(default_factory=list)

    def markdown(self) -> str:
        """The report as Markdown."""
        parts = [f"# {self.title}"]
        for block in self.blocks:
            if isinstance(block, ReportTable):
                parts.append(block.markdown())
            elif isinstance(block, tuple):
                parts.append(f"![{block[1]}]({block[0]})\n\n*{block[1]}*")
            else:
                parts.append(block)
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """The report as one HTML page; the pictures lie beside it."""
        parts = [f"<h1>{html.escape(self.title)}</h1>"]
        for block in self.blocks:
            if isinstance(block, ReportTable):
                parts.append(block.html())
            elif isinstance(block, tuple):
                caption = html.escape(block[1])
                parts.append(
                    f"<figure><img src='{block[0]}' alt='{caption}'>"
                    f"<figcaption>{caption}</figcaption></figure>"
                )
            elif block.startswith("#"):
                parts.append(f"<h2>{html.escape(block.lstrip('# '))}</h2>")
            else:
                parts.append(f"<p>{html.escape(block)}</p>")
        body = "\n".join(parts)
        return (
            "<!doctype html><html lang='en'><meta charset='utf-8'>"
            f"<title>{html.escape(self.title)}</title><style>{STYLE}</style>\n{body}</html>\n"
        )
