"""Before a run: join, review, sign, seal and submit, or withdraw."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from tacit import participant
from tacit.cli.participant.profile import Folder, Run, ask, folder_of, opened, receipts_line
from tacit.cli.printing import AsJson, echo_json, echo_lines, echo_runs
from tacit.cli.run.notifying import AddWebhook, Mail, RemoveWebhook, change_notifications
from tacit.cli.run.watching import Timeout, seconds_of
from tacit.errors import InputError
from tacit.plain_text import plain_line

TrustPath = Annotated[
    Path | None,
    typer.Option(help="Keys that the others gave you (TOML): any other key is refused."),
]
Unpinned = Annotated[
    bool,
    typer.Option(
        "--unpinned", help="Nothing is pinned: believe the platform whose keys these are."
    ),
]
Costs = Annotated[Path | None, typer.Option(help="Your CSV, to check that it fits.")]


def _trust(path: Path | None, *, unpinned: bool) -> participant.Trust | None:
    if path is not None and unpinned:
        raise InputError("--trust pins keys and --unpinned does without; give one of them")
    return None if path is None else participant.load_trust(path)


def join(
    invitation: Annotated[
        str, typer.Argument(help="Your invitation file, or the platform's address.")
    ],
    code: Annotated[
        str | None, typer.Argument(help="With an address: the code; it works once.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Your key file, if not in your folder.")] = None,
    ca: Annotated[
        Path | None, typer.Option(help="With an address: the platform's certificate, to pin it.")
    ] = None,
    account: Annotated[
        str | None,
        typer.Option("--as", help="With an address: your account. Default: the key's name."),
    ] = None,
    profile: Folder = None,
) -> None:
    """Hand in your invitation. If your access has expired, ask for a new one and join again.

    An invitation file has all that it takes. If you have no keys yet, they are drawn.
    """
    import time

    from tacit.cli.run.invitations import opened_invitation

    folder = folder_of(profile)
    given = opened_invitation(invitation, code, ca)
    if given.account is not None and account not in (None, given.account):
        raise InputError(f"the invitation is for {given.account!r}; leave --as out")
    if given.account is not None and key is None and not list(folder.glob("*.key")):
        key = participant.new_key_file(given.account, folder)
        said = f"made {key}: readable by you alone, keep a copy in a safe place"
        typer.echo(plain_line(said), err=True)
    made = participant.join(
        given.url,
        given.code,
        profile=folder,
        key=key,
        certificate=given.certificate,
        account=given.account or account,
    )
    until = time.strftime("%Y-%m-%d", time.localtime(made.expires))
    said = f"you are {made.account!r} at {made.url} until {until}; profile in {made.folder}"
    typer.echo(plain_line(said, longest=2000))


def runs(profile: Folder = None, as_json: AsJson = False) -> None:
    """List your runs."""
    found = participant.runs(opened(profile)[0])
    echo_runs(found, none="you are a member of no run yet", as_json=as_json)


def review(
    run: Run,
    trust: TrustPath = None,
    unpinned: Unpinned = False,
    write_trust: Annotated[
        Path | None,
        typer.Option(help="Write the keys shown here to a file, to compare them elsewhere."),
    ] = None,
    costs: Costs = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show what will be disclosed to whom, how much can be inferred, by when, and whose keys.

    Sends nothing. Fails if something speaks against signing, such as keys that are not pinned. Keys
    given with --trust are remembered if they fit, and count for sign too.
    """
    pinned = _trust(trust, unpinned=unpinned)
    loaded, run = opened(profile, run)
    made = participant.review(loaded, run, trust=pinned, unpinned=unpinned, costs=costs)
    if as_json:
        echo_json(participant.review_json(made))
    else:
        echo_lines(participant.review_lines(made))
    loaded.keep_reviewed(run, made.hash)
    if write_trust is not None:
        note = f"as the platform shows them for {run}: compare each with its owner before you trust"
        participant.save_trust(participant.seen_trust(made.agreement), write_trust, note=note)
    made.check()
    if pinned is not None:
        participant.save_trust(pinned, loaded.trust_file)
    made.check_costs()


def sign(
    run: Run,
    trust: TrustPath = None,
    unpinned: Unpinned = False,
    costs: Costs = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: sign what review has shown.")
    ] = False,
    agreement: Annotated[
        str | None, typer.Option(help="Sign only the agreement with this hash.")
    ] = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Sign the agreement of a run, if every check of review passes. Shows it first, and asks.

    With --yes it signs the agreement that review has shown last, or the one named, and no other.
    """
    given = _trust(trust, unpinned=unpinned)
    loaded, run = opened(profile, run)
    made = participant.review(loaded, run, trust=given, unpinned=unpinned, costs=costs)
    if not yes:
        echo_lines(participant.review_lines(made), err=as_json)
        loaded.keep_reviewed(run, made.hash)
    made.check()
    made.check_costs()
    if yes or agreement is not None:
        participant.check_is_expected(made, agreement or loaded.reviewed_hash(run))
    if not yes:
        question = f"\nSign agreement {made.hash[:16]}... as {made.account!r}?"
        if not ask(question, err=as_json):
            raise typer.Abort
    after = participant.sign(loaded, run, seen=made)
    if as_json:
        signed = {"run": run, "agreement": made.hash, "account": made.account}
        echo_json({**signed, "state": after.state, "pinned": made.pinned})
        return
    typer.echo(plain_line(f"signed {made.hash} as {made.account!r}; the run is {after.state}"))


def submit(
    run: Run,
    costs: Annotated[Path, typer.Argument(help="Your CSV: your rows only, by name or number.")],
    objective: Annotated[str | None, typer.Option(help="Objective, if there are several.")] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Seal costs that you sealed for other runs before: it adds up."
        ),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the nodes have checked them; 3 if refused.")
    ] = False,
    timeout: Timeout = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Check your costs, split and seal them to the nodes, and upload the sealed boxes."""
    loaded, run = opened(profile, run)
    done = participant.submit(loaded, run, costs, objective=objective, again=again)
    if wait:
        limit = seconds_of(timeout)
        seen = participant.wait_for_check(loaded, run, done.objective, timeout=limit)
        done = msgspec.structs.replace(done, state=seen.state, reason=seen.reason)
    if as_json:
        echo_json(done)
        return
    why = f": {done.reason}" if done.reason else ""
    what = "sealed and handed in"
    if done.earlier:
        what = "nothing was sent, since rows are sealed once per agreement and yours were before"
    typer.echo(plain_line(f"{what}; the nodes' check is {done.state}{why}"))
    if done.repeated:
        typer.echo(plain_line(f"Note: {done.repeated}", longest=2000), err=True)
    if done.unkept:
        note = f"Note: handed in, but its receipts were not kept: {done.unkept}"
        typer.echo(plain_line(note, longest=2000), err=True)
        return
    typer.echo(receipts_line(loaded, run, done.receipts), err=True)


def show_budget(profile: Folder = None, as_json: AsJson = False) -> None:
    """List what you have sealed, under which disclosures, and what adds up for the same costs.

    It counts all that the agreements allow, whether the platform made use of it or not.
    """
    spent = participant.budget(opened(profile)[0])
    if as_json:
        echo_json(participant.budget_json(spent))
        return
    echo_lines(plain_line(line, longest=2000) for line in participant.budget_lines(spent))
    if not spent:
        typer.echo("nothing was sealed yet", err=True)


def withdraw(
    run: Run,
    reason: Annotated[str, typer.Option(help="Reason that the others are shown.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    profile: Folder = None,
) -> None:
    """Leave a run before it starts; it ends for everybody."""
    loaded, run = opened(profile, run)
    if not yes:
        typer.confirm(f"Withdraw from {run}? It ends for all participants.", abort=True)
    after = participant.withdraw(loaded, run, reason=reason)
    typer.echo(plain_line(f"withdrawn; the run is {after.state}"))


def notify(
    mail: Mail = None,
    webhook: AddWebhook = None,
    remove: RemoveWebhook = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Be told when you are needed: invited, to sign, to submit, refused, finished, failed.

    Neither mail nor webhooks name anything but the run's id and what is needed.
    """
    with opened(profile)[0].connect() as client:
        change_notifications(client, mail=mail, webhook=webhook, remove=remove, as_json=as_json)
