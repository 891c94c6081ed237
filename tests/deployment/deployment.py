"""A whole deployment by commands: a cluster of nodes, a platform, an operator, three airlines."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from tests.deployment.parties import (
    NAMES,
    TACIT,
    Operator,
    Participant,
    Place,
    Server,
    Words,
    entries_of_nodes,
    typed,
)

UNPROVEN = 5
"""How `participant log` ends where nothing contradicts, and an answer is not proven."""


def anywhere(_host: str) -> Place:
    """All of them on this machine."""
    return nullcontext


class Deployment:
    """Use it in a `with` statement: all servers end with the block."""

    def __init__(
        self,
        folder: Path,
        addresses: Sequence[str],
        platform: str,
        *,
        listen: Sequence[str] | None = None,
        place: Callable[[str], Place] = anywhere,
        tacit: Words = TACIT,
        names: Sequence[str] = (),
        **settings: str | int,
    ) -> None:
        """`addresses` are the nodes' and the platform's; `listen` theirs too, where it differs.

        `names` are others of the platform, for which its certificate is too.
        `settings` stand in service.toml in place of what is usual.
        """
        self.folder, self.tacit, self._place = folder, tacit, place
        self.cluster, self.web = folder / "cluster", folder / "web"
        *own, web = listen or (*addresses, platform)
        hosts = [word for address in addresses for word in ("--host", address)]
        typed(tacit, "cluster", "new", self.cluster, *hosts)
        for i, address in enumerate(addresses):
            config = self.cluster / f"node-{i}.toml"
            line = f'listen = "{address}"'
            assert line in config.read_text()
            config.write_text(config.read_text().replace(line, f'listen = "{own[i]}"'))
        words = ("service", "init", self.web, "--cluster", self.cluster / "cluster.toml")
        others = [word for name in names for word in ("--host", name)]
        typed(tacit, *words, "--listen", web, "--url", f"https://{platform}", *others)
        config = self.web / "service.toml"
        lines = config.read_text().splitlines()
        given = {name: f'"{v}"' if isinstance(v, str) else str(v) for name, v in settings.items()}
        kept = [line for line in lines if line.split(" =")[0] not in given]
        config.write_text("\n".join([*(f"{n} = {v}" for n, v in given.items()), *kept]) + "\n")
        self.nodes = [
            self._server(f"node-{i}", "node", "run", "--config", self.cluster / f"node-{i}.toml")
            for i in range(len(addresses))
        ]
        self.platform = self._server("platform", "service", "run", "--config", config)
        self.operator = Operator(f"https://{platform}", self.web / "service.pem")
        self.people = [Participant(name, folder / name, tacit) for name in NAMES]
        self._stack = ExitStack()

    def __enter__(self) -> Deployment:
        try:
            self._stack.callback(self.operator.http.close)
            for each in self.servers:
                self._stack.callback(each.end, signal.SIGKILL)
                each.start()
            self.operator.wait_until_up(*self.servers)
            self.operator.join(self.invitation().strip())
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def servers(self) -> list[Server]:
        return [*self.nodes, self.platform]

    def invitation(self) -> str:
        """The code of the first operator."""
        words = ("service", "invite", "desk", "--config", self.web / "service.toml")
        return typed(self.tacit, *words)

    def start_run(self, terms: dict[str, Any]) -> str:
        """A run that all have signed and submitted to; whoever is new joins first."""
        run, codes = self.operator.new_run(terms)
        if codes:
            self._enter(codes)
        with ThreadPoolExecutor(len(self.people)) as desks:
            list(desks.map(lambda each: each.sign(run, terms), self.people))
            list(desks.map(lambda each: each.submit(run), self.people))
        return run

    def _enter(self, codes: dict[str, str]) -> None:
        url, certificate = self.operator.url, self.web / "service.pem"
        entries = [each.enter(url, codes[each.name], certificate) for each in self.people]
        keys = self.folder / "keys.toml"
        keys.write_text("\n".join([*entries, *entries_of_nodes(self.cluster, self.tacit)]))
        for each in self.people:
            each.type("trust", keys)

    def check_by_participants(self, run: str, *, killed: bool = False) -> None:
        """Plan and logs, as a participant sees and checks them.

        A node that was killed may not have logged its part of the answer that it gave last.
        """
        north = self.people[0]
        plan = north.type("result", run, "--csv").splitlines()
        assert len(plan) > len(NAMES), plan
        done = north.try_("log", run)
        if killed and done.returncode == UNPROVEN:
            assert "nothing is off" in done.stderr, done
        else:
            assert done.stdout.endswith("everything is as it was signed\n"), done

    def _server(self, host: str, *words: str | Path) -> Server:
        return Server(words, self.folder / f"{host}.log", self.tacit, self._place(host))
