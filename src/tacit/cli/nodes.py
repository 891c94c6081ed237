"""`tacit node` and `tacit cluster`: set up nodes, join them to a cluster, and run one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.printing import (
    AsJson,
    command_group,
    echo,
    echo_findings,
    echo_json,
    iso_time,
    status_code,
)
from tacit.errors import InputError

FIRST_PORT = 9000


def init_node(
    folder: Annotated[Path, typer.Argument(help="A new folder for the node's files.")],
    name: Annotated[str, typer.Option(help="A short name of the operator: a-z, 0-9, dashes.")],
    address: Annotated[str, typer.Option(help="host:port where the others find the node.")],
    listen: Annotated[
        str | None,
        typer.Option(
            help="host:port to listen at. Default: the same port on all addresses of this machine."
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Where it stores its data. Default: NAME.data in the folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a node's own key and certificate, node.toml, and the public half for the others.

    Send NAME.public.toml to the operators of the other nodes, of the platform, and to participants.
    Nothing else leaves this machine. When you have those of all, run tacit cluster join.
    """
    from tacit.cli.keys import show_halves
    from tacit.identity import new_node

    half = new_node(folder, name, address, listen=listen, data=data)
    show_halves([half], as_json=as_json, file=folder / f"{name}.public.toml")


def run_a_node(
    config: Annotated[
        Path, typer.Option(help="The node's file, made by tacit node init or cluster new.")
    ],
) -> None:
    """Run a node until Ctrl-C or SIGTERM; what it holds stays on its disk."""
    from tacit.files import check_user
    from tacit.identity import load_node_config
    from tacit.node import log_as_json_lines, run_node

    log_as_json_lines()
    loaded = load_node_config(config)
    # As another user, root for example, it would leave files that the node cannot write later.
    check_user(Path(loaded.folder) / loaded.data)
    typer.echo(f"node {loaded.node} listens at {loaded.listen}", err=True)
    run_node(loaded)


def show_status(
    config: Annotated[
        Path, typer.Option(help="The node's file, made by tacit node init or cluster new.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show whether a node runs, what it keeps, what expires, and which rotation step is open.

    Reads files on the node's host, so it also works while the node is down. Exit codes, as
    monitoring plugins have them: 0 all is well, 1 something needs attention, 2 something is wrong
    now.
    """
    import time

    from msgspec.structs import asdict

    from tacit.identity import load_node_config
    from tacit.node import node_status

    seen = node_status(load_node_config(config), now=time.time())
    if as_json:
        rooms = {name: room._asdict() for name, room in seen.platforms.items()}
        echo_json({**asdict(seen), "platforms": rooms})
        raise typer.Exit(status_code(seen.critical, seen.warnings))
    echo_findings(seen.critical, seen.warnings, well=f"{len(seen.agreements)} agreements are open")
    there = {True: "listens", False: "is down", None: "may run"}[seen.runs]
    echo(f"{seen.node} {there} at {seen.listen}")
    for name, room in seen.platforms.items():
        echo(f"{name}: {room.drafted} drafted, {room.open} open, {room.ended} ended")
        for limit, (taken, most) in room.parts.items():
            unit = 1_000_000 if limit.endswith("megabytes") else 1
            echo(f"  {limit:22} {taken / unit:10.6g} of {most // unit}")
    for each in seen.agreements:
        last = "" if each.last is None else f"  {each.last} {iso_time(each.at)}"
        echo(f"agreement {each.agreement[:16]} until {iso_time(each.expires)}{last}")
    for party, at in sorted(seen.expire.items(), key=lambda item: item[1]):
        echo(f"certificate of {party} until {iso_time(at)[:10]}")
    if seen.rotation is not None:
        echo(f"rotation under way: tacit keys rotate {config} {seen.rotation}")
    raise typer.Exit(status_code(seen.critical, seen.warnings))


def new_cluster(
    folder: Annotated[Path, typer.Argument(help="A new folder for all files.")],
    host: Annotated[
        list[str] | None,
        typer.Option(help="host:port of a node; give three or four. Default: this machine."),
    ] = None,
    nodes: Annotated[
        int, typer.Option(min=3, max=4, help="How many nodes, if no host is given.")
    ] = 3,
) -> None:
    """For a trial: make keys, certificates and config files of all nodes at once.

    Whoever runs this has had the keys of all nodes. In production use tacit node init and cluster
    join. Give each node's operator the files that begin with its name and the .pem files of all.
    """
    from tacit.identity import write_cluster

    # Drawing keys over those in use would lock a running cluster out.
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; give a new folder")
    addresses = host or [f"127.0.0.1:{FIRST_PORT + i}" for i in range(nodes)]
    for path in write_cluster(folder, addresses):
        typer.echo(path)


def init_cluster(
    folder: Annotated[Path, typer.Argument(help="A new folder for the platform's side.")],
    name: Annotated[str, typer.Option(help="A short name of the platform: a-z, 0-9, dashes.")],
    as_json: AsJson = False,
) -> None:
    """Make the certificate that a platform shows its nodes, and its public half.

    Send NAME.public.toml to the operators of all nodes. When you have theirs, run tacit cluster
    join.
    """
    from tacit.cli.keys import show_halves
    from tacit.identity import new_platform

    half = new_platform(folder, name)
    show_halves([half], as_json=as_json, file=folder / f"{name}.public.toml")


def join(
    folder: Annotated[Path, typer.Argument(help="Your folder, of node init or cluster init.")],
    files: Annotated[list[Path], typer.Argument(help="The public halves of all others.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace keys that are pinned already.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put the public halves of all nodes and the platform together; every operator does this.

    Pins their certificates and writes your node.toml or cluster.toml. Nodes are numbered by their
    names. Your own public half may be among the files. Then compare the last line by phone with
    every other operator: whoever has the same line has the same keys.
    """
    from tacit.cli.keys import half_table, show_halves
    from tacit.identity import join_cluster

    joined = join_cluster(folder, files, replace=replace)
    if as_json:
        echo_json(
            {
                "config": str(joined.config),
                # Every operator sorts the same names, so all arrive at the same numbers without
                # asking anybody.
                "node": joined.nodes.index(joined.own) if joined.own.kind == "node" else None,
                "nodes": [half_table(each) for each in joined.nodes],
                "platforms": [half_table(each) for each in joined.platforms],
                "fingerprint": joined.fingerprint,
            }
        )
        return
    typer.echo(joined.config)
    show_halves([*joined.nodes, *joined.platforms], own=joined.own.name)
    typer.echo(f"all together: {joined.fingerprint}")
    typer.echo(
        "compare this line by phone with every other operator before you start; if it differs, "
        "compare the lines above it",
        err=True,
    )


node_app = command_group(
    "node",
    "Set up and run one node of a cluster, and see how it is.",
    ("init", init_node, "alpha --name alpha --address alpha.example:9000"),
    ("run", run_a_node, "--config alpha/node.toml"),
    ("status", show_status, "--config alpha/node.toml"),
)
cluster_app = command_group(
    "cluster",
    "Set up a cluster of nodes.",
    (
        "new",
        new_cluster,
        "cluster --host n0.example:9000 --host n1.example:9000 --host n2.example:9000",
    ),
    ("init", init_cluster, "cluster --name desk"),
    ("join", join, "alpha beta.public.toml gamma.public.toml desk.public.toml"),
)
