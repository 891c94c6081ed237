"""`kill -9` of the platform and of each node at random moments: nothing is lost, nothing hangs.

Each round has a run on its way from signatures to its end, in which one of the four processes dies
at a random moment and comes back a little later.

    python -m studies.benchmarks.platform_kills --json FILE
"""

from __future__ import annotations

import random
import sys
import threading
import time
from base64 import b64encode
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx
import numpy as np

from studies.benchmarks.live_platform import ENDS, OPERATOR, LivePlatform
from studies.benchmarks.measuring import options_of, write_json
from tacit.agreement.sealing import seal_rows
from tacit.agreement.signatures import sign_agreement

NAMES = ("north", "south", "west")
DEADLINE = 2.5
VICTIMS = ("platform", "node 0", "node 1", "node 2")
ALLOWED_SECONDS = 90.0
"""A run that has not ended after so long is in limbo."""


@dataclass
class Round:
    """One kill and what came of it."""

    victim: str
    after: float
    """Seconds to the kill, from `running` on or from the first signature."""
    state_at_kill: str = ""
    first_end: str = ""
    due: float | None = None
    """When the answer was to be there, in seconds since 1970."""
    late_by: float | None = None
    restart_seconds: float | None = None
    """From the start of the platform's process to its first answer."""
    restart_cpu_seconds: float | None = None
    """What it computed until then, which is what it would take on a machine of its own."""
    interrupted_at_first_answer: bool | None = None
    end: str = ""
    lost_submissions: int = 0
    troubles: list[str] = field(default_factory=list)


def patiently(live: LivePlatform, method: str, path: str, who: str, **options: Any) -> Any:
    """Ask until the platform is there."""
    until = time.monotonic() + ALLOWED_SECONDS
    while True:
        try:
            return live.call(method, path, who, **options)
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


class Participant(threading.Thread):
    """Signs and submits, again and again if need be; keeps what was accepted."""

    def __init__(self, live: LivePlatform, run_id: str, name: str, pause: float) -> None:
        super().__init__(daemon=True)
        self._live, self._run_id, self.name_, self._pause = live, run_id, name, pause
        self.accepted: list[str] = []
        self.trouble = ""

    def run(self) -> None:
        try:
            self._take_part()
        except Exception as error:
            self.trouble = f"{self.name_}: {error}"

    def _take_part(self) -> None:
        live, name, path = self._live, self.name_, f"/runs/{self._run_id}"
        agreement = live.read(patiently(live, "GET", f"{path}/agreement", name))
        key = live.keys[name].signing
        body = {"signature": sign_agreement(agreement, key).hex()}
        patiently(live, "POST", f"{path}/signature", name, json=body)
        time.sleep(self._pause)
        until = time.monotonic() + ALLOWED_SECONDS
        while patiently(live, "GET", path, name)["state"] == "invited":
            if time.monotonic() > until:
                raise RuntimeError("the others did not sign")
            time.sleep(0.05)
        shape = (len(agreement.rows_of(name, 0)), agreement.problem.columns)
        weights = np.random.default_rng(list(name.encode())).integers(0, 1000, shape)
        sealed = seal_rows(agreement, name, 0, weights, key=key)
        answer = patiently(
            live,
            "POST",
            f"{path}/submission",
            name,
            json={
                "objective": 0,
                "manifest": sealed.manifest.hex(),
                "signature": sealed.signature.hex(),
                "boxes": [b64encode(box).decode() for box in sealed.boxes],
            },
        )
        self.accepted = answer["boxes"]


def one_round(
    live: LivePlatform, chance: random.Random, victim: str, *, best: str, deadline: float
) -> Round:
    """A run, a kill, a restart, and the way to the end."""
    run_id = live.new_run(NAMES, deadline=deadline, best=best)
    in_mid_run = chance.random() < 0.6
    made = Round(victim, chance.uniform(0.0, 0.9 * deadline if in_mid_run else 2.0))
    people = [Participant(live, run_id, name, chance.uniform(0.0, 0.4)) for name in NAMES]
    for each in people:
        each.start()
    if in_mid_run:
        live.wait(run_id, "running", seconds=ALLOWED_SECONDS)
    time.sleep(made.after)
    made.state_at_kill = live.run(run_id)["state"]
    _kill(live, victim, chance.uniform(0.0, 0.6), made, run_id)
    for each in people:
        each.join(ALLOWED_SECONDS)
        made.troubles += [each.trouble] if each.trouble else []
    run = _end_of(live, run_id)
    made.first_end = run["state"]
    if victim != "platform":
        made.due, made.late_by = run["deadline_at"], live.stored_late().get(run_id)
    if run["state"] == "interrupted":
        run = _resumed(live, run_id)
    made.end = run["state"]
    if run["state"] != "finished":
        made.troubles.append(f"{run['state']}: {run['reason']}")
    for each in people:
        there = live.call("GET", f"/runs/{run_id}/submission", each.name_)
        if not each.accepted or each.accepted not in [sent["boxes"] for sent in there]:
            made.lost_submissions += 1
    return made


def _kill(live: LivePlatform, victim: str, pause: float, made: Round, run_id: str) -> None:
    cluster = live.clusters[0]
    if victim == "platform":
        live.kill()
        time.sleep(pause)
        made.restart_seconds = round(live.start(), 2)
        made.restart_cpu_seconds = round(live.cpu_seconds(), 2)
        if made.state_at_kill == "running":
            state = live.run(run_id)["state"]
            # It may have ended between our question and the kill.
            made.interrupted_at_first_answer = state in ("interrupted", "finished")
    else:
        node = int(victim[-1])
        cluster.kill(node)
        time.sleep(pause)
        cluster.restart(node)


def _end_of(live: LivePlatform, run_id: str) -> dict[str, Any]:
    return live.wait(run_id, *ENDS, seconds=ALLOWED_SECONDS)


def _resumed(live: LivePlatform, run_id: str) -> dict[str, Any]:
    """The run at its end; resumed again where a busy machine found no plan in its time."""
    until = time.monotonic() + ALLOWED_SECONDS
    while True:
        live.call("POST", f"/runs/{run_id}/resume", OPERATOR)
        run = _end_of(live, run_id)
        if "before there was a plan" not in (run["reason"] or "") or time.monotonic() > until:
            return run


def kill_again_and_again(
    live: LivePlatform, kills: int, *, seed: int, deadline: float = DEADLINE
) -> list[Round]:
    """So many rounds on one platform, every victim as often as the others."""
    chance = random.Random(seed)
    victims = [VICTIMS[k % len(VICTIMS)] for k in range(kills)]
    chance.shuffle(victims)
    rounds = []
    for k, victim in enumerate(victims):
        best = "improvement" if k % 3 == 2 else "value"
        try:
            rounds.append(one_round(live, chance, victim, best=best, deadline=deadline))
        except RuntimeError:
            print(live.last_lines(), file=sys.stderr, flush=True)
            raise
        print(asdict(rounds[-1]), file=sys.stderr, flush=True)
    return rounds


def main() -> int:
    parser = options_of(__file__, __doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with LivePlatform() as live:
        rounds = kill_again_and_again(live, options.kills, seed=options.seed)
    late = [each.late_by for each in rounds if each.late_by is not None]
    restarts = [each.restart_seconds for each in rounds if each.restart_seconds is not None]
    summary = {
        "kills": len(rounds),
        "lost_submissions": sum(each.lost_submissions for each in rounds),
        "not_finished": sum(each.end != "finished" for each in rounds),
        "most_late_seconds": max(late, default=None),
        "slowest_restart_seconds": max(restarts, default=None),
        "most_restart_cpu_seconds": max(
            (each.restart_cpu_seconds or 0.0 for each in rounds), default=None
        ),
        "not_reported_at_first_answer": sum(
            each.interrupted_at_first_answer is False for each in rounds
        ),
        "troubles": [trouble for each in rounds for trouble in each.troubles],
    }
    write_json(options.json, {**summary, "rounds": rounds})
    for name, value in summary.items():
        print(f"{name.replace('_', ' '):32} {value}")
    return 0 if not summary["troubles"] and not summary["lost_submissions"] else 1


if __name__ == "__main__":
    sys.exit(main())
