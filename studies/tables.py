"""Tables and pages of studies, and how they are written as Markdown, HTML and LaTeX."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from studies.study import write_json, write_whole


@dataclass(frozen=True)
class Cell:
    """A cell; `marked` ones are highlighted (a significant difference, a No)."""

    text: str
    marked: bool = False


@dataclass(frozen=True)
class ReportTable:
    """A table with a key such as `table-07` for its file.

    >>> row = (Cell("top_1"), Cell("5 %", True))
    >>> table = ReportTable("table-00", "Sizes", ("what", "n"), (row,))
    >>> print(table.markdown())
    **Sizes**
    <BLANKLINE>
    | what | n |
    | --- | --- |
    | top_1 | **5 %** |
    """

    key: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """As a Markdown table with its title and note."""
        lines = [f"**{self.title}**", "", _pipes(self.header), _pipes(["---"] * len(self.header))]
        for row in self.rows:
            lines.append(_pipes([f"**{c.text}**" if c.marked else c.text for c in row]))
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines)

    def html(self) -> str:
        """As an HTML table with a caption."""
        head = "".join(f"<th>{html.escape(text)}</th>" for text in self.header)
        body = "".join(
            "<tr>" + "".join(_html_cell(cell) for cell in row) + "</tr>\n" for row in self.rows
        )
        note = f"<p class='note'>{html.escape(self.note)}</p>" if self.note else ""
        return (
            f"<div class='wide'><table id='{self.key}'><caption>{html.escape(self.title)}</caption>"
            f"\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>{note}"
        )

    def latex(self) -> str:
        r"""As a LaTeX table for booktabs and xcolor.

        >>> table = ReportTable("table-00", "Sizes", ("n",), ((Cell("5 %", True),),))
        >>> "\\cellcolor{lightgray} 5 \\%" in table.latex()
        True
        """
        rows = " \\\\\n".join(
            " & ".join(
                ("\\cellcolor{lightgray} " if cell.marked else "") + _latex_text(cell.text)
                for cell in row
            )
            for row in self.rows
        )
        head = " & ".join(_latex_text(text) for text in self.header)
        note = f"\n    \\par\\smallskip {_latex_text(self.note)}" if self.note else ""
        return (
            "% needs \\usepackage{booktabs} and \\usepackage[table]{xcolor}\n"
            "\\begin{table}\n    \\centering\n    \\footnotesize\n"
            f"    \\caption{{{_latex_text(self.title)}}}\n    \\label{{tab:{self.key}}}\n"
            f"    \\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}\n    \\toprule\n"
            f"{head} \\\\\n    \\midrule\n{rows} \\\\\n    \\bottomrule\n"
            f"    \\end{{tabular}}{note}\n"
            "\\end{table}\n"
        )


def plain(*texts: str) -> tuple[Cell, ...]:
    """Cells that are not highlighted."""
    return tuple(Cell(text) for text in texts)


def _pipes(texts: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def _html_cell(cell: Cell) -> str:
    marked = " class='marked'" if cell.marked else ""
    return f"<td{marked}>{html.escape(cell.text)}</td>"


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "|": r"\textbar{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "−": "--", "–": "--", "×": r"$\times$",
    }
)  # fmt: skip


def _latex_text(text: str) -> str:
    return text.translate(_LATEX)


STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-size:12px;margin:1rem 0}caption{text-align:left;font-weight:600}
th,td{border:1px solid #ccc;padding:2px 6px;text-align:right}th{background:#f2f2f2}
td:first-child,th:first-child,#table-findings td{text-align:left}.marked{background:#d3d3d3}
.note{font-size:13px;color:#444}.wide{overflow-x:auto}img{max-width:100%}"""

Block = str | ReportTable | tuple[str, str]
"""A line (headings start with #), a table, or a picture's file and caption."""


@dataclass
class ReportPage:
    """Blocks of text, tables and pictures, in order."""

    title: str
    blocks: list[Block] = field(default_factory=list)

    def markdown(self) -> str:
        """The report as Markdown."""
        parts = [f"# {self.title}"] if self.title else []
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


def write_study(
    folder: Path, name: str, figures: object, blocks: Sequence[Block], /, *, title: str = ""
) -> None:
    """Write a study's figures as NAME.json, and its tables as tables.md."""
    write_json(folder / f"{name}.json", figures)
    page = ReportPage(title, [block for block in blocks if not isinstance(block, tuple)])
    write_whole(folder / "tables.md", page.markdown().encode())
