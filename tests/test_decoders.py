"""msgspec knows all types that several threads decode before the threads start.

It looks at a type when it meets it first. A thread that meets a type which another is just looking
at finds half of it and crashes the process. So a platform ended that took up its runs at a start.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit
from tests.support.repository import ROOT

SHARED = (
    "agreement",
    "identity",
    "node",
    "records",
    "series",
    "wire",
    "problems",
    "runs",
    "search",
    "service",
)
"""The rooms of what platforms and nodes do, in threads."""
SAMPLES = ROOT / "tests" / "on_nodes" / "recorded_runs"
FIRST_READ = """
import sys
from pathlib import Path

from tacit.agreement import read_agreement
from tacit.search import parameters_of
from tacit.service.execution.report import decode_report

looked = []

def watch(frame, event, _argument):
    if event == "call" and frame.f_globals.get("__name__") == "msgspec._utils":
        looked.append(frame.f_code.co_name)

agreements = [Path(each).read_bytes() for each in sys.argv[1:]]
sys.setprofile(watch)
read = [read_agreement(each) for each in agreements]
read[1].sealed_run
parameters_of({"population": 40, "elites": 2})
decode_report(b"\\x81\\xa5stage\\xa5ready")
sys.setprofile(None)
print(looked)
"""


def late_decoders(tree: ast.Module) -> Iterator[int]:
    """Lines in functions that name a class to decode, which msgspec may meet there first."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for call in ast.walk(function):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            named = [each.value for each in call.keywords if each.arg == "type"]
            named += call.args[:1] if call.func.attr == "Decoder" else []
            is_msgspec = ast.unparse(call.func).startswith(("msgspec.json.", "msgspec.msgpack."))
            if is_msgspec and any(_is_class(each) for each in named):
                yield call.lineno


def _is_class(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id.strip("_")[:1].isupper()


def test_decoders_are_made_where_their_module_is_loaded() -> None:
    source = Path(tacit.__file__).parent
    late = [
        f"{path.relative_to(source)}:{line}"
        for room in SHARED
        for path in sorted((source / room).rglob("*.py"))
        for line in late_decoders(ast.parse(path.read_text()))
    ]
    assert not late, "make a decoder at the module's top level"


def test_a_late_decoder_is_noticed() -> None:
    text = "def f(data):\n    return msgspec.json.decode(data, type=_Head)\n"
    assert list(late_decoders(ast.parse(text))) == [2]
    text = "def f(data):\n    return msgspec.msgpack.Decoder(Report).decode(data)\n"
    assert list(late_decoders(ast.parse(text))) == [2]


@pytest.mark.processes
def test_nothing_is_left_to_look_at_when_agreements_are_read() -> None:
    agreements = [SAMPLES / kind / "agreement.json" for kind in ("evaluating", "sealed")]
    done = subprocess.run(
        [sys.executable, "-c", FIRST_READ, *agreements], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
