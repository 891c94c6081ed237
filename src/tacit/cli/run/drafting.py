"""`tacit run new` and `tacit run change`: a draft from a file, from another run, or changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.printing import AsJson
from tacit.cli.run.account import json_object, operators_client
from tacit.cli.run.showing import Run, named_run, show_run
from tacit.cli.run.watching import seconds_of
from tacit.errors import FileError, InputError

if TYPE_CHECKING:
    from tacit.client import PlatformClient, RunTerms, RunView


def new(
    file: Annotated[
        Path | None, typer.Argument(help="A problem file, or the terms of a run as JSON.")
    ] = None,
    like: Annotated[
        str | None, typer.Option(help="In place of a file: the run to copy the terms of.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Its name.")] = None,
    disclose: Annotated[
        str | None, typer.Option(help="Of a problem: what is disclosed, such as sealed or top:15.")
    ] = None,
    best: Annotated[
        str | None, typer.Option(help="Of a problem: nothing, improvement or value of the best.")
    ] = None,
    deadline: Annotated[str | None, typer.Option(help="How long to search, such as 60s.")] = None,
    invites: Annotated[
        bool, typer.Option("--invite", help="Invite the participants at once.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draft a run, which participants are not told of before they are invited."""
    if (file is None) == (like is None):
        raise InputError("give a file, or a run with --like, and not both")
    with operators_client() as client:
        if file is not None:
            terms: RunTerms | dict[str, Any] = _terms_of(file, name, disclose, best, deadline)
        else:
            terms = _copied(client, str(like), name, deadline)
            if disclose is not None or best is not None:
                raise InputError("a copy discloses what its pattern does; change its terms instead")
        made: RunView = client.runs.new(terms)
        if invites:
            made = client.runs.invite(made.id)
    show_run(made, as_json=as_json)


def _terms_of(
    file: Path, name: str | None, disclose: str | None, best: str | None, deadline: str | None
) -> RunTerms | dict[str, Any]:
    found = json_object(file)
    if "participants" in found and "problem" in found:
        if disclose is not None or best is not None:
            raise InputError("the terms say what is disclosed; change it in the file")
        return _changed(found, name, deadline)
    from tacit.errors import ParameterError
    from tacit.runs import parse_duration
    from tacit.service import uploaded, usual_terms

    try:
        upload = uploaded(file.read_bytes())
        rules = upload.rules
        if disclose is not None or best is not None:
            rules = tuple(
                each._replace(disclosure=disclose or each.disclosure, best=best or each.best)
                for each in rules
            )
        return usual_terms(
            upload.problem,
            rules,
            name=name or upload.problem.name,
            deadline_seconds=parse_duration(deadline or "60s"),
        )
    except ParameterError as error:
        said = str(error).removeprefix("the file, ").removeprefix("the file: ")
        raise FileError(file, None, said, "see docs/platform.md") from None


def _changed(terms: dict[str, Any], name: str | None, deadline: str | None) -> dict[str, Any]:
    """The terms with another name or deadline."""
    seconds = seconds_of(deadline)
    given = {"name": name, "deadline_seconds": seconds}
    return {**terms, **{key: value for key, value in given.items() if value is not None}}


def _copied(
    client: PlatformClient, run: str, name: str | None, deadline: str | None
) -> dict[str, Any]:
    """The terms of a run with another name or deadline.

    They have as many evaluations as fitted its own deadline; with another one these are open again.
    """
    import msgspec

    terms = msgspec.to_builtins(client.runs.terms(named_run(client, run)))
    changed = _changed(terms, name, deadline)
    if changed.get("deadline_seconds") != terms.get("deadline_seconds"):
        changed["limits"] = {**terms.get("limits", {}), "evaluations": None}
    return changed


def change(
    run: Run,
    file: Annotated[
        Path | None, typer.Argument(help="JSON: those of its terms that differ.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    deadline: Annotated[str | None, typer.Option(help="How long to search, such as 60s.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change a draft, also one of a series within what was signed; what is left out stays."""
    differ = {} if file is None else json_object(file)
    if not (differ or name or deadline):
        raise InputError("nothing is to change; give a file, --name or --deadline")
    with operators_client() as client:
        named = named_run(client, run)
        terms = _copied(client, named, name, deadline)
        made = client.runs.change(named, {**terms, **differ})
    show_run(made, as_json=as_json)
