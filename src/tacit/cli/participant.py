"""`tacit participant`: join, review, sign, submit, follow series, and check results."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tacit import participant
from tacit.cli.operator_account import (
    AddWebhook,
    Code,
    Mail,
    RemoveWebhook,
    Test,
    change_notifications,
    opened_invitation,
)
from tacit.cli.operator_account import Ca as CaFile
from tacit.cli.printing import (
    LONGEST_LINE,
    AsJson,
    command_group,
    echo,
    echo_json,
    echo_lines,
    echo_runs,
    echo_verdict,
)
from tacit.cli.run_display import Timeout, seconds_of, watch_run
from tacit.errors import InputError
from tacit.plain_text import plain_line

Folder = Annotated[
    Path | None,
    typer.Option("--profile", help="Your folder. Default: ~/.config/tacit", show_default=False),
]


def signed_here(context: typer.Context, incomplete: str) -> list[str]:
    """Complete a run's id from those that this machine has signed, without asking the platform."""
    folder = (context.params.get("profile") or participant.default_folder()) / "runs"
    return sorted(path.name for path in folder.glob("r-*") if path.name.startswith(incomplete))


Run = Annotated[
    str,
    typer.Argument(
        help="The run, by its id or its name, as runs lists them.", autocompletion=signed_here
    ),
]
Series = Annotated[str, typer.Argument(help="The series, by its id or its name.")]
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
Again = Annotated[
    bool,
    typer.Option("--again", help="Seal costs that you sealed for other runs before: it adds up."),
]


def opened(profile: Path | None, run: str, /) -> tuple[participant.Profile, str]:
    """The profile, and the id of a run that was given by its id or its name."""
    loaded = participant.load_profile(profile)
    return loaded, participant.find_run(loaded, run)


def echo_long(lines: Iterable[str], /, *, err: bool = False) -> None:
    """Print lines of which others wrote some words."""
    echo_lines((plain_line(line, longest=LONGEST_LINE) for line in lines), err=err)


def ask(question: str, /, *, err: bool = False) -> bool:
    """Ask somebody at a terminal; where nobody can answer, say what to do instead."""
    try:
        return typer.confirm(question, err=err)
    except typer.Abort:
        # Ctrl-C and Ctrl-D at a terminal are an answer: no.
        if sys.stdin.isatty():
            raise
        raise InputError(
            "nobody is there to answer; read the review, then sign what it showed with --yes"
        ) from None


def confirm(
    loaded: participant.Profile,
    seen: participant.Review,
    lines: list[str],
    /,
    *,
    yes: bool,
    named: str | None,
    err: bool = False,
) -> None:
    """Show what is to be signed and ask; with `yes` accept only what was read before."""
    if not yes:
        echo_lines(lines, err=err)
        participant.keep_reviewed(loaded, seen)
    # After it is shown: whoever is refused should see what the refusal is about.
    seen.check()
    seen.check_costs()
    # The platform may have changed it between `review` and `sign --yes`, which nobody reads.
    if yes or named is not None:
        expected = named or participant.reviewed_hash(loaded, seen)
        participant.check_is_expected(seen, expected)
    what = "agreement" if seen.series is None else "series"
    question = f"\nSign {what} {seen.hash[:16]}... as {seen.account!r}?"
    if not yes and not ask(question, err=err):
        raise typer.Abort


# Keys, and joining.


def keys_new(
    name: Annotated[str, typer.Argument(help="Your organisation.")], profile: Folder = None
) -> None:
    """Draw your keys into NAME.key in your folder, and show the public key."""
    path = participant.new_key_file(name, profile or participant.default_folder())
    typer.echo(f"made {path}: readable by you alone, keep a copy of it in a safe place", err=True)
    _show_key(path)


def keys_show(
    key: Annotated[Path | None, typer.Option(help="A key file. Default: yours.")] = None,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="As an entry of a trust file, for the others to pin.")
    ] = False,
    profile: Folder = None,
) -> None:
    """Show your public key and its fingerprint, for the others to pin."""
    folder = profile or participant.default_folder()
    path = key or participant.find_key_file(folder)
    if as_toml:
        typer.echo(participant.trust_text(participant.own_entry(folder, path)), nl=False)
    else:
        _show_key(path)


def _show_key(path: Path) -> None:
    from tacit.identity import key_fingerprint, load_keys

    keys = load_keys(path)
    typer.echo(f"{keys.name}\nsigning key  {keys.signing_public}")
    typer.echo(f"fingerprint  {key_fingerprint(keys.signing_public)}")


def trust(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Trust files that the others gave you (TOML).", show_default=False),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace keys that are pinned already.")
    ] = False,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Pin keys of nodes and participants, then list what is pinned. Other keys are refused.

    Compare each fingerprint with its owner by phone. Do not take keys from the platform.
    """
    pinned = (profile or participant.default_folder()) / "trust.toml"
    joined = participant.pin(pinned, files or (), replace=replace)
    if as_json:
        echo_json(joined)
        return
    for line in participant.trust_lines(joined):
        echo(line)
    if not (joined.node or joined.participant):
        typer.echo("nothing is pinned yet", err=True)


def join(
    invitation: Annotated[
        str, typer.Argument(help="Your invitation file, or the platform's address.")
    ],
    code: Code = None,
    key: Annotated[Path | None, typer.Option(help="Your key file, if not in your folder.")] = None,
    ca: CaFile = None,
    account: Annotated[
        str | None,
        typer.Option("--as", help="With an address: your account. Default: the key's name."),
    ] = None,
    profile: Folder = None,
) -> None:
    """Join a platform with your invitation. If your access has expired, join again with a new one.

    An invitation file has all that is needed. If you have no keys yet, they are drawn.
    """
    given = opened_invitation(invitation, code, ca)
    joined, drawn = participant.accept(given, profile=profile, key=key, account=account)
    if drawn is not None:
        echo(f"made {drawn}: readable by you alone, keep a copy in a safe place", err=True)
    until = time.strftime("%Y-%m-%d", time.localtime(joined.expires))
    echo(f"you are {joined.account!r} at {joined.url} until {until}; profile in {joined.folder}")


def notify(
    mail: Mail = None,
    webhook: AddWebhook = None,
    remove: RemoveWebhook = None,
    test: Test = False,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Get mail or webhook calls when you are needed: to sign or submit, and when a run ends.

    Neither mail nor webhooks name anything but the run's id and what is needed.
    """
    with participant.load_profile(profile).connect() as client:
        change_notifications(
            client, mail=mail, webhook=webhook, remove=remove, test=test, as_json=as_json
        )


# A run before it starts.


def runs(profile: Folder = None, as_json: AsJson = False) -> None:
    """List your runs."""
    found = participant.runs(participant.load_profile(profile))
    echo_runs(found, none="you are a member of no run yet", as_json=as_json)


def _given_trust(path: Path | None, *, unpinned: bool) -> participant.Trust | None:
    if path is not None and unpinned:
        raise InputError("--trust pins keys and --unpinned does without; give one of them")
    return None if path is None else participant.load_trust(path)


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
    """Show what is disclosed to whom, how much can be inferred, by when, and whose keys these are.

    Sends nothing. Fails if something speaks against signing, such as keys that are not pinned. Keys
    given with --trust are remembered if they fit, and count for sign too.
    """
    given = _given_trust(trust, unpinned=unpinned)
    loaded, run = opened(profile, run)
    seen = participant.review(loaded, run, trust=given, unpinned=unpinned, costs=costs)
    if as_json:
        echo_json(participant.review_json(seen))
    else:
        echo_lines(participant.review_lines(seen))
    # `sign --yes` accepts only the agreement that is noted here.
    participant.keep_reviewed(loaded, seen, trust=given)
    if write_trust is not None:
        # A warning in the file itself, since it can be given to --trust as if somebody had compared
        # it.
        note = f"as the platform shows them for {run}: compare each with its owner before you trust"
        participant.save_trust(participant.seen_trust(seen.agreement), write_trust, note=note)
    # Last, so that whoever is refused has seen what the refusal is about.
    seen.check()
    seen.check_costs()


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
    """Show the agreement of a run, ask, and sign it if every check of review passes.

    With --yes it signs the agreement that review has shown last, or the one named, and no other.
    """
    given = _given_trust(trust, unpinned=unpinned)
    loaded, run = opened(profile, run)
    seen = participant.review(loaded, run, trust=given, unpinned=unpinned, costs=costs)
    lines = participant.review_lines(seen)
    confirm(loaded, seen, lines, yes=yes, named=agreement, err=as_json)
    after = participant.sign(loaded, run, seen=seen)
    if as_json:
        signed = {"run": run, "agreement": seen.hash, "account": seen.account}
        echo_json({**signed, "state": after.state, "pinned": seen.pinned})
    else:
        echo(f"signed {seen.hash} as {seen.account!r}; the run is {after.state}")


def submit(
    run: Run,
    costs: Annotated[Path, typer.Argument(help="Your CSV: your rows only, by name or number.")],
    objective: Annotated[str | None, typer.Option(help="Objective, if there are several.")] = None,
    again: Again = False,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait for the nodes' check; exit code 3 if they refuse."),
    ] = False,
    timeout: Timeout = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Check your costs, split and seal them to the nodes, and upload the sealed boxes."""
    loaded, run = opened(profile, run)
    done = participant.submit(loaded, run, costs, objective=objective, again=again)
    if wait:
        done = participant.wait_for_check(loaded, run, done, timeout=seconds_of(timeout))
    if as_json:
        echo_json(done)
        return
    echo(done.words())
    if done.repeated:
        echo(f"Note: {done.repeated}", err=True)
    if done.unkept:
        # No error: the platform has the rows for good, and `result` and `log` ask for receipts
        # again.
        echo(f"Note: handed in, but its receipts were not kept: {done.unkept}", err=True)
    else:
        typer.echo(participant.receipts_words(loaded, run, done.receipts), err=True)


def budget(profile: Folder = None, as_json: AsJson = False) -> None:
    """List what you have sealed, under which disclosures, and what adds up for the same costs.

    It counts all that the agreements allow, whether the platform made use of it or not.
    """
    spent = participant.budget(participant.load_profile(profile))
    if as_json:
        echo_json(participant.budget_json(spent))
        return
    echo_long(participant.budget_lines(spent))
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
    echo(f"withdrawn; the run is {after.state}")


# A run while it runs and afterwards.


def watch(
    run: Run, timeout: Timeout = None, profile: Folder = None, as_json: AsJson = False
) -> None:
    """Print what happens to a run until it has ended; with --json one line of JSON each.

    The exit code is 0 if the run is finished, 6 if it ended in any other way, and 7 on a timeout.
    """
    loaded, run = opened(profile, run)
    with loaded.connect() as client:
        watch_run(client, run, timeout=timeout, as_json=as_json)


def result(
    run: Run,
    plan: Annotated[int, typer.Option(help="Which of several plans to show, counted from 1.")] = 1,
    costs: Annotated[
        Path | None,
        typer.Option(help="Your CSV: also show what your rows cost, computed on this machine."),
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="Objective of that CSV, if there are several.")
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="The plan, or with --costs your own rows of it, as CSV.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
    timeout: Timeout = None,
    as_json: AsJson = False,
    profile: Folder = None,
) -> None:
    """Show the plan; your own rows are marked, and log then checks this very plan.

    With several objectives there are several plans: one is shown whole, the others in a line each.
    If plans are for their owners only, your own rows are put together here from the nodes' boxes.
    """
    loaded, run = opened(profile, run)
    if wait:
        participant.wait_for_end(loaded, run, timeout=seconds_of(timeout))
    shown = participant.show_plan(loaded, run, number=plan, costs=costs, objective=objective)
    echo_long((f"Note: {note}" for note in shown.notes()), err=True)
    if as_json:
        echo_json(shown.to_json())
        return
    # Remarks go to standard error, so that a plan can be piped into a file.
    if not as_csv:
        echo_long(shown.status(), err=True)
    shown.check(waited=wait)
    if as_csv:
        typer.echo(shown.csv(), nl=False)
        return
    echo_lines(shown.lines())
    echo_long(shown.footnotes(), err=True)


def log(
    run: Annotated[
        str,
        typer.Argument(
            help="The run, by its id or name, or its audit bundle.", autocompletion=signed_here
        ),
    ],
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Fetch the nodes' signed logs and check that everybody did what was signed.

    A bundle (RUN.zip, from tacit run bundle) is checked without the platform. The exit code is not
    0 if anything is off.
    """
    from tacit.files import read_bytes

    if run.endswith(".zip"):
        loaded = participant.load_profile(profile)
        # The bundle is held against what this machine signed and sealed, and not only against
        # itself.
        verdict = participant.check_bundle_here(loaded, read_bytes(run))
    else:
        loaded, run = opened(profile, run)
        verdict = participant.check_logs(loaded, run)
    echo_verdict(verdict, as_json=as_json)
    if not as_json:
        typer.echo("everything is as it was signed")


# Series.


def series(profile: Folder = None, as_json: AsJson = False) -> None:
    """List your series: standing agreements, each signed once."""
    loaded = participant.load_profile(profile)
    found = participant.series_of(loaded)
    if as_json:
        echo_json(found)
        return
    for each in found:
        signed = "signed here" if participant.signed_series(loaded, each.id) else "not signed here"
        echo(f"{each.id}  {each.state:8}  {signed}  {each.name}")
    if not found:
        typer.echo("you are a member of no series yet", err=True)


def balance(name: Series, profile: Folder = None, as_json: AsJson = False) -> None:
    """Show what the runs of a series have disclosed to you of balances.

    It is what the nodes sealed to your key, from the logs that this machine has checked: follow
    does that by itself, log for a single run.
    """
    loaded = participant.load_profile(profile)
    known = participant.known_balances(loaded, participant.find_series(loaded, name))
    if as_json:
        echo_json(known)
        return
    for each in known:
        balances = "; ".join(participant.balance_words(each))
        echo(f"run {each.number} ({each.run}): {balances}")
    if not known:
        typer.echo("no run whose logs were checked here counts for balances yet", err=True)


def follow(
    series: Series,
    costs: Annotated[
        Path | None, typer.Option(help="Your CSV, or a folder with NUMBER.csv or costs.csv.")
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="A program that fills in the CSV on its standard input.")
    ] = None,
    results: Annotated[Path | None, typer.Option(help="A folder for the plans.")] = None,
    again: Again = False,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Check the nodes' logs after each run.")
    ] = True,
    unseen: Annotated[
        int,
        typer.Option(
            min=1, max=100, help="Sign no more after so many runs whose logs were never shown."
        ),
    ] = 3,
    once: Annotated[bool, typer.Option("--once", help="Do what can be done now, and end.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two polls.")] = 2.0,
    review: Annotated[
        bool, typer.Option("--review", help="Show the series, sign nothing, and end.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: sign the series that --review has shown.")
    ] = False,
    series_hash: Annotated[
        str | None, typer.Option("--series", help="Sign only the series with this hash.")
    ] = None,
    unpinned: Unpinned = False,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Sign a series once; from then on sign its runs and seal your costs automatically.

    Each run is held against the series that was signed here; one outside it is refused. Ends with
    Ctrl-C, or with an error if the nodes' logs show that somebody did not keep to a run.
    """
    loaded = participant.load_profile(profile)
    name = participant.find_series(loaded, series)
    if review:
        seen = participant.review_series(loaded, name, unpinned=unpinned)
        if as_json:
            echo_json(participant.series_json(seen))
        else:
            echo_lines(participant.series_lines(seen))
        participant.keep_reviewed(loaded, seen)
        seen.check()
        return
    source = participant.cost_source(costs, command)
    # Asked once: after a restart it follows what was signed without anybody at the terminal.
    if participant.signed_series(loaded, name) is None:
        seen = participant.review_series(loaded, name, unpinned=unpinned)
        confirm(loaded, seen, participant.series_lines(seen), yes=yes, named=series_hash)
        participant.sign_reviewed_series(loaded, seen)
        typer.echo(f"signed series {seen.hash} as {seen.account!r}")
    follower = participant.Follower(
        loaded, name, source, echo, again=again, results=results, check=check, unseen=unseen
    )
    participant.follow(follower, every=every, once=once)


app = command_group(
    "participant",
    "Take part in a run: your costs leave this machine only sealed.",
    ("series", series),
    ("follow", follow, "s-abcdefghij --costs costs --results plans"),
    ("balance", balance, "s-abcdefghij"),
    ("trust", trust, "nodes.toml south.toml west.toml"),
    ("join", join, "alice.tacit"),
    ("runs", runs),
    ("review", review, "r-abcdefghij --trust keys.toml --costs costs.csv"),
    ("sign", sign, "r-abcdefghij"),
    ("submit", submit, "r-abcdefghij costs.csv"),
    ("budget", budget),
    ("withdraw", withdraw, 'r-abcdefghij --reason "wrong rows"'),
    ("result", result, "r-abcdefghij --costs costs.csv"),
    ("notify", notify, "--mail me@example.org"),
    ("watch", watch, "r-abcdefghij --timeout 1h"),
    ("log", log, "r-abcdefghij"),
    epilog="In order: join, trust, runs, review, sign, submit, watch, result, log.",
)
app.add_typer(
    command_group(
        "participant keys",
        "Make and show your keys.",
        ("new", keys_new, "north"),
        ("show", keys_show, "--toml > north.toml"),
    ),
    name="keys",
)
