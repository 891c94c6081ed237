from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal, get_args

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.audit.record import (
    MAGIC,
    Record,
    RecordedObjective,
    RecordedProblem,
    decoded,
    deflated,
    load_record,
)
from tacit.audit.recording import Recorder
from tacit.errors import FileError, InputError, ParameterError
from tacit.problems import generate_assignment
from tacit.runs import Checkpointing, Limits, SolveSettings
from tacit.search import SearchParameters
from tests.audit.example import example_problem, example_record
from tests.support.simulated import solve

Best = Literal["value", "improvement", "nothing"]


@st.composite
def records(draw: st.DrawFn) -> Record:
    rows = draw(st.integers(1, 6))
    columns = draw(st.integers(rows, 8))
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    disclosure = draw(st.sampled_from(["none", "order", "quantiles:2", "top:1", "above:50"]))
    best: Best = draw(st.sampled_from(get_args(Best)))
    plans = np.array([rng.permutation(columns)[:rows] for _ in range(sum(sizes))])
    if disclosure == "none":
        values = rng.integers(-(2**40), 2**40, sum(sizes))
    else:
        values = rng.integers(0, 2, sum(sizes))
    shown: dict[str, int | bool | None] = {"value": -5, "improvement": True, "nothing": None}
    objective = RecordedObjective(
        "pay", "minimize", 9, disclosure, best, [shown[best]] * len(sizes), deflated(values, "<i8")
    )
    problem = RecordedProblem("p", "assignment", rows, columns, False, [], [("a", [0])])
    published = [int(column) for column in plans[0]]
    return Record(problem, [objective], {"elites": 1}, sizes, deflated(plans, "<u2"), published)


@given(record=records())
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    again = decoded(record.encoded())
    assert again == record
    assert again.plan_array().shape == (sum(record.sizes), record.problem.rows)


@given(record=records(), data=st.data())
def test_any_changed_or_missing_byte_is_noticed(record: Record, data: st.DataObject) -> None:
    content = bytearray(record.encoded())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(InputError):
        decoded(bytes(content))
    with pytest.raises(InputError):
        decoded(record.encoded()[:place])


def test_records_of_before_the_seed_are_read() -> None:
    record = example_record("order")
    body = msgspec.msgpack.decode(record.encoded()[len(MAGIC) + 32 :])
    assert body.pop("seed") == 1
    content = msgspec.msgpack.encode(body)
    old = decoded(MAGIC + hashlib.sha256(content).digest() + content)
    assert old == msgspec.structs.replace(record, seed=None)


@settings(max_examples=30)
@given(content=st.binary(max_size=200))
def test_noise_is_no_record(content: bytes) -> None:
    with pytest.raises(InputError):
        decoded(MAGIC + content)


def changed(record: Record, **changes: object) -> bytes:
    return msgspec.structs.replace(record, **changes).encoded()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": [1] * 900}, "once per evaluation"),
        ({"sizes": [900]}, "once per evaluation"),
        ({"sizes": []}, "inconsistent"),
        ({"plans": deflated(np.zeros(5400), "<u2")}, "twice"),
        ({"plans": deflated(np.full(5400, 6), "<u2")}, "does not exist"),
        ({"plans": b"none"}, "damaged"),
        ({"plans": deflated(np.zeros(9999), "<u2")}, "does not have the"),
        ({"published": [0]}, "one entry per row"),
        ({"objectives": []}, "no confidential"),
    ],
)
def test_what_contradicts_itself_is_refused(changes: dict[str, object], message: str) -> None:
    record = example_record("top:5")
    with pytest.raises(InputError, match=message):
        decoded(changed(record, **changes))


def test_disclosed_values_must_be_possible() -> None:
    record = example_record("top:5")
    strange = msgspec.structs.replace(
        record.objectives[0], disclosed=deflated(np.full(900, 2), "<i8")
    )
    with pytest.raises(InputError, match="true and false"):
        decoded(changed(record, objectives=[strange]))
    ranked = msgspec.structs.replace(
        strange, disclosure="order", disclosed=deflated(-np.ones(900), "<i8")
    )
    with pytest.raises(InputError, match="do not exist"):
        decoded(changed(record, objectives=[ranked]))


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.record"
    path.write_bytes(b"something")
    with pytest.raises(FileError, match=r"run\.record: this is not a record of a run; give"):
        load_record(path)
    with pytest.raises(FileError, match="cannot be written"):
        example_record("order").save(tmp_path / "gone" / "run.record")


@pytest.mark.processes
def test_nodes_and_simulation_give_the_same_record() -> None:
    parameters = SearchParameters(population=20, elites=2, tournament=3)
    problem = example_problem()
    made = []
    for engine in ("nodes", "simulated"):
        recorder = Recorder()
        result = solve(
            problem,
            disclose="quantiles:5",
            best="improvement",
            limits=Limits(generations=3),
            seed=2,
            engine=engine,
            settings=parameters,
            observe=recorder,
        )
        made.append(recorder.record(result.plan).encoded())
    assert made[0] == made[1]


def test_confidential_objectives_alone_are_recorded() -> None:
    problem = generate_assignment(3, rows=6, objectives=2)
    recorder = Recorder()
    result = solve(
        problem,
        disclose={"weight 1": "order", "weight 2": "top:9"},
        limits=Limits(generations=2),
        engine="simulated",
        observe=recorder,
    )
    record = recorder.record(result.plan)
    assert [each.disclosure for each in record.objectives] == ["order", "top:9"]
    assert record.objective_named("weight 2") == 1
    with pytest.raises(InputError, match="several objectives are recorded; name one of weight 1"):
        record.objective_named(None)
    with pytest.raises(InputError, match="no objective 'pay'"):
        record.objective_named("pay")
    # Parents are evaluated again with their offspring.
    assert record.sizes == [150, 300, 300]


def test_a_run_is_recorded_from_its_beginning(tmp_path: Path) -> None:
    problem, file = example_problem(), tmp_path / "run.checkpoint"
    solve(
        problem,
        disclose="order",
        limits=Limits(generations=2),
        engine="simulated",
        settings=SolveSettings(checkpointing=Checkpointing(file=file)),
    )
    with pytest.raises(ParameterError, match="from its beginning"):
        solve(
            problem,
            disclose="order",
            limits=Limits(generations=4),
            engine="simulated",
            settings=SolveSettings(checkpointing=Checkpointing(resume=file)),
            observe=Recorder(),
        )
    with pytest.raises(ParameterError, match="nothing was evaluated"):
        Recorder().record([])
