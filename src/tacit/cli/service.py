"""`tacit service`: run the platform."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from tacit.cli.printing import (
    AsJson,
    check_writable,
    command_group,
    echo,
    echo_findings,
    echo_json,
    iso_time,
    status_code,
)
from tacit.errors import InputError
from tacit.files import check_user, reading

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from tacit.client import InvitationFile
    from tacit.service import ServiceStatus, Settings

ConfigOption = Annotated[Path, typer.Option(help="The platform's file, from tacit service init.")]


def init(
    folder: Annotated[Path, typer.Argument(help="A new folder for the platform.")],
    cluster: Annotated[list[Path], typer.Option(help="The cluster.toml of a cluster; repeatable.")],
    listen: Annotated[str, typer.Option(help="host:port to listen at.")] = "127.0.0.1:8443",
    url: Annotated[
        str | None, typer.Option(help="Public address. Default: https and --listen.")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="One more name or IP address that people use for the platform; its certificate "
            "is for that of --url, that of --listen and these. Repeatable."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Where the database and records are. Default: the folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write service.toml with a certificate, and ca.pem, with which others verify it.

    Participants join with --ca ca.pem, browsers import it as an authority, curl takes --cacert. It
    vouches for this platform's names alone.
    """
    from tacit.identity import load_cluster_config
    from tacit.service import hidden_from_a_unit, load_settings, write_settings

    for file in cluster:
        if not file.is_file():
            raise InputError(f"{file} is not there; give the cluster.toml of a cluster")
        # A fault in the file would otherwise show only when the platform starts.
        load_cluster_config(file)
    path = write_settings(
        folder, clusters=cluster, listen=listen, url=url, hosts=host or (), data=data
    )
    _show_new(load_settings(path), path, as_json=as_json)
    for file in (path, *cluster):
        if hidden_from_a_unit(file):
            typer.echo(
                f"tacit: {file.absolute()} is below a home folder, which the unit in deploy/ "
                "does not see; for systemd put it below /etc/tacit",
                err=True,
            )


def _show_new(settings: Settings, path: Path, *, as_json: bool) -> None:
    from tacit.client import certificate_fingerprint
    from tacit.identity import read_certificate
    from tacit.mpc.transport import certificate_hosts

    authority = settings.certificate_to_pin
    assert authority is not None
    assert settings.tls_certificate is not None
    hosts = certificate_hosts(read_certificate(settings.place(settings.tls_certificate)))
    to_compare = certificate_fingerprint(read_certificate(authority))
    if as_json:
        echo_json(
            {
                "config": str(path),
                "url": settings.url,
                "authority": str(authority),
                "authority_to_compare": to_compare,
                "hosts": hosts,
            }
        )
        return
    typer.echo(path)
    typer.echo(f"{authority}  for {', '.join(hosts)}")
    typer.echo(f"  certificate  {to_compare}")
    # From the platform itself they could get that of somebody in between.
    typer.echo(f"give {authority} to participants and browsers, not through the platform", err=True)


def run(config: ConfigOption) -> None:
    """Run the platform until Ctrl-C or SIGTERM; what it knows stays in its database."""
    from tacit.service import come_first

    come_first()  # before all else: after a crash, somebody waits for the result of a run
    from tacit.service import load_settings, serve

    settings = load_settings(config)
    # As another user, root for example, it would leave files that the service cannot write later.
    check_user(settings.data_folder)
    _say_where(settings)
    serve(settings)


def _say_where(settings: Settings) -> None:
    """Tell somebody at a terminal; anywhere else every line of the log is JSON."""
    if sys.stderr.isatty():
        typer.echo(f"the platform listens at {settings.url}", err=True)


def api(config: ConfigOption) -> None:
    """Run API and dashboard alone, until Ctrl-C or SIGTERM; workers execute the runs.

    Any number of them may run, on any hosts, with one PostgreSQL database.
    """
    from tacit.service import load_settings, serve_api

    settings = load_settings(config)
    check_user(settings.data_folder)
    _say_where(settings)
    serve_api(settings)


def worker(config: ConfigOption) -> None:
    """Execute runs, schedules and notices, until Ctrl-C or SIGTERM.

    Any number of them may run, on any hosts, with one PostgreSQL database. What one has under way
    when it dies, another one takes over.
    """
    from tacit.service import come_first

    come_first()  # before all else: after a crash, somebody waits for the result of a run
    from tacit.service import load_settings, work

    settings = load_settings(config)
    check_user(settings.data_folder)
    work(settings)


def migrate(config: ConfigOption) -> None:
    """Create the tables in an empty database; refuse a database of another version.

    Run does the same at its start. No database is converted before the first release.
    """
    from tacit.service import Database, load_settings

    settings = load_settings(config)
    check_user(settings.data_folder)
    Database(settings.database_url).close()
    typer.echo("the database is up to date")


def status(config: ConfigOption, as_json: AsJson = False) -> None:
    """Show what runs, what is due, what expires, which nodes answer, and what is wrong.

    Reads the database and asks the nodes, so it also works while the platform is down. Exit codes,
    as monitoring plugins have them: 0 all is well, 1 something needs attention, 2 something is
    wrong now.
    """
    import time

    from tacit.service import load_settings, service_status

    settings = load_settings(config)
    check_user(settings.data_folder)
    seen = service_status(settings, config, now=time.time())
    if as_json:
        echo_json(seen)
    else:
        _show_status(seen)
    raise typer.Exit(status_code(seen.critical, seen.warnings))


def _show_status(seen: ServiceStatus) -> None:
    running = sum(run.state == "running" for run in seen.runs)
    well = f"{running} runs are under way, {len(seen.runs) - running} wait"
    echo_findings(seen.critical, seen.warnings, well=well)
    there = "answers" if seen.answers else "does not answer"
    echo(f"platform {seen.url} {there}; tacit {seen.version}, {seen.database}")
    for worker_name in seen.workers:
        has = [run.id for run in seen.runs if run.owner == worker_name]
        echo(f"worker {worker_name}: {', '.join(has) or 'has no run'}")
    for run in seen.runs:
        until = "" if run.due is None else f" at {iso_time(run.due)}"
        echo(f"run {run.id}  {run.state:11}  {run.name}: waits for {run.waits_for}{until}")
    for series in seen.series:
        echo(f"series {series.id}  {series.name}: next run at {iso_time(series.next_at)}")
    for cluster in seen.clusters:
        used = f"{cluster.running} of {cluster.slots} slots taken, {cluster.waiting} runs wait"
        echo(f"cluster {cluster.name}: {used}")
        for number, node in enumerate(cluster.nodes):
            there = "answers" if node.reachable else "does not answer"
            room = "" if node.room_used is None else f", {node.room_used:.0%} of its room taken"
            echo(f"  node {number} {node.host}:{node.port} {there}{room}")
    for name, at in sorted(seen.certificates.items(), key=lambda item: item[1]):
        echo(f"certificate of {name} until {iso_time(at)[:10]}")
    for name, end in seen.operators.items():
        signed_in = "not signed in" if end is None else f"signed in until {iso_time(end)[:10]}"
        echo(f"operator {name} is {signed_in}")
    for file, step in seen.rotations.items():
        echo(f"rotation under way: tacit keys rotate {file} {step}")


def backup(
    file: Annotated[Path, typer.Argument(help="File to write; - for standard output.")],
    config: ConfigOption,
) -> None:
    """Write database, files of runs, configuration, certificates and keys into one file.

    The platform may run meanwhile. The file has secrets: whoever reads it can pose as this
    platform. It is readable by you alone; encrypt it before it leaves this host, say by
    tacit service backup - --config service.toml | age -r KEY > platform.backup.age
    """
    from tacit.files import replacing
    from tacit.service import back_up, load_settings

    settings = load_settings(config)
    check_user(settings.data_folder)
    if str(file) == "-":
        if sys.stdout.isatty():
            raise InputError("a backup is no text; name a file, or give it to another command")
        back_up(settings, config, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    check_writable(file)
    # Whole or not at all: a job that is killed leaves the backup of yesterday.
    with replacing(file, private=True, durable=True) as out:
        back_up(settings, config, out)
    typer.echo(file)
    typer.echo(f"{file} has secrets: encrypt it before it leaves this host", err=True)


def restore(
    file: Annotated[Path, typer.Argument(help="A file of tacit service backup; - for input.")],
    folder: Annotated[Path, typer.Argument(help="A new folder for the configuration.")],
    database: Annotated[
        str | None, typer.Option(help="URL of an empty database. Default: where it was.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Where the platform stores. Default: where it did."),
    ] = None,
) -> None:
    """Make a platform of a backup, in an empty place; also from SQLite to PostgreSQL, or back.

    Everything is as at the time of the backup: tokens that were revoked since count again. Never
    run the platform that was backed up beside the restored one.
    """
    from tacit.service import restore as restore_backup

    check_user(folder)
    with contextlib.ExitStack() as stack:
        if str(file) == "-":
            source: BinaryIO = sys.stdin.buffer
        else:
            with reading(file):
                source = stack.enter_context(file.open("rb"))
        typer.echo(restore_backup(source, folder, name=str(file), database=database, data=data))
    typer.echo(
        "revoke again what was revoked since the backup; never run the platform that was backed up "
        "beside this one",
        err=True,
    )


def record(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run that has ended (r-...).")],
    config: ConfigOption,
    out: Annotated[
        Path | None, typer.Option(help="File to write. Default: RUN.record in the data folder.")
    ] = None,
) -> None:
    """Write all that the platform has seen of a run, for tacit audit; no weights are in it."""
    from tacit.service import load_settings, record_run

    check_writable(out)
    typer.echo(record_run(load_settings(config), run_id, out=out))


def invite(
    name: Annotated[str, typer.Argument(help="Account to invite.")],
    config: ConfigOption,
    role: Annotated[
        str, typer.Option(help="Role of a new account: operator, participant or viewer.")
    ] = "operator",
    out: Annotated[
        Path | None,
        typer.Option(help="Write an invitation file with the platform's address and certificate."),
    ] = None,
) -> None:
    """Print a one-time code for an account, and create the account if it does not exist.

    This is how the first operator gets in.
    """
    from tacit.service import Database, load_settings

    settings = load_settings(config)
    check_user(settings.data_folder)
    # Directly in the database: the first operator has no account yet to invite anybody with.
    database = Database(settings.database_url)
    try:
        with database.writing() as session:
            file = _invitation(session, settings, name, role)
    finally:
        database.close()
    # The code alone on standard output, for scripts.
    if out is None:
        typer.echo(file.code)
        return
    file.save(out)
    typer.echo(f"{out}")
    if file.fingerprint is not None:
        typer.echo(f"certificate, to compare by phone: {file.fingerprint}", err=True)


def _invitation(session: Session, settings: Settings, name: str, role: str) -> InvitationFile:
    import msgspec

    from tacit.client import NewAccount
    from tacit.service import create_account, find_account, invitation_file

    try:
        wanted = msgspec.convert({"name": name, "role": role}, NewAccount)
    except msgspec.ValidationError:
        raise InputError(
            f"{name!r} as {role!r} is not a valid account; a name has up to 63 letters, digits, "
            "dots and dashes, a role is operator, participant or viewer"
        ) from None
    account = find_account(session, wanted.name)
    if account is None:
        create_account(session, wanted.name, wanted.role)
    elif account.role != wanted.role:
        raise InputError(f"{name!r} is a {account.role}; invite it with --role {account.role}")
    return invitation_file(session, settings, wanted.name)


app = command_group(
    "service",
    "Run the platform.",
    (
        "init",
        init,
        "platform --cluster cluster/cluster.toml",
        "platform --cluster cluster/cluster.toml --listen 0.0.0.0:8443 "
        "--url https://platform.example:8443",
    ),
    ("run", run, "--config platform/service.toml"),
    ("api", api, "--config platform/service.toml"),
    ("worker", worker, "--config platform/service.toml"),
    ("migrate", migrate, "--config platform/service.toml"),
    ("status", status, "--config platform/service.toml"),
    ("backup", backup, "platform.backup --config platform/service.toml"),
    (
        "restore",
        restore,
        "platform.backup platform",
        "platform.backup /etc/tacit --database postgresql+psycopg://tacit@db.example/tacit",
    ),
    ("record", record, "r-abc --config platform/service.toml"),
    (
        "invite",
        invite,
        "desk --role operator --config platform/service.toml",
        "ops --config service.toml --out ops.tacit",
    ),
)
