"""Bounds stand in one table a package: no time-out is written where it is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from assay_fixtures.documents.bounds import PACKAGES, bounds_of

ROOT = Path(__file__).parents[2]
SOURCES = ("fixtures/assay_fixtures", "faults/assay_faults", "reports/assay_reports")
WAITS = frozenset(
    {"communicate", "create_connection", "join", "poll", "select", "settimeout", "timeout", "wait", "wait_for"}
)
"""Calls in which a number is a time-out."""
BOUNDED = re.compile(r"(_S|TIMEOUT(_[A-Z]+)?|DEADLINE(_[A-Z]+)?|(MOST|MAX)_[A-Z_]*BYTES)$")
PARAMETER = re.compile(r"timeout|deadline|patience|grace|within|^wait_s$")

STANDALONE: Mapping[str, str] = {
    "reports/assay_reports/export/runtime/": "it is copied into scripts, which run without assay",
}

NO_WAITS: Mapping[str, str] = {
    "AGAIN_S": "a pause between two tries",
    "AT_ONCE_S": "a rule about the rows of a ledger",
    "CLEAN_UP_S": "a pause: nothing says when a broker has cleaned up",
    "EVERY_S": "how often progress is said",
    "FIRST_QUIET_EVERY_S": "a period",
    "GOALS_FROM_S": "from which length on a figure is shown",
    "KEPT_S": "a rule about the rows of a ledger",
    "LEAST_JUDGED_S": "from which length on a soak is judged",
    "LIVE_PART_S": "how often a part is closed",
    "LONG_S": "from when on a Case counts as long",
    "LOOK_EVERY_S": "a period",
    "LOOK_S": "a period",
    "NOTED_AFTER_START_S": "a period",
    "NOTED_EVERY_S": "a period",
    "PART_S": "how often a part is closed",
    "PLAIN_EVERY_S": "how often progress is said",
    "POLL_S": "a period",
    "REFRESHES_PER_S": "a rate",
    "REST_S": "a pause: what must not come is waited for",
    "SAID_EVERY_S": "how often progress is said",
    "SHOW_EVERY_S": "a period",
    "SLOW_S": "from when on a Case counts as slow",
    "STARTED_AGAIN_AFTER_S": "pauses between two tries",
    "START_GAP_S": "a pause between two starts",
    "STEP_S": "a period",
    "TICK_S": "a period",
    "TOLD_LATER_S": "a rule about the rows of a ledger",
    "WRITE_EVERY_S": "a period",
    "WRITTEN_LATER_S": "a rule about the rows of a ledger",
    "_ASK_S": "how often Spark is asked for its progress",
    "_BREATH_S": "a pause of a load",
    "_LOOK_AGAIN_S": "a period",
    "_MS_PER_S": "a unit",
    "_OUTPUT_POLL_S": "a period",
    "_PAUSE_S": "a period",
    "_POLL_S": "a period",
    "_READY_POLL_S": "a period",
    "_START_S": "where a virtual clock begins",
    "_TRY_AGAIN_S": "a period",
}


def literals(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each bound that is written as a number."""
    for node in ast.walk(ast.parse(text)):
        for word, value in _bounds(node):
            if _is_number(value):
                yield value.lineno, f"{word} = {ast.unparse(value)}"


def _bounds(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What bounds something in it: a word for it, and the value."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments, keywords=keywords):
            if name in WAITS:
                yield from ((name, argument) for argument in arguments)
            yield from ((k.arg, k.value) for k in keywords if k.arg in ("timeout", "timeout_s", "within_s"))
        case ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given):
            positional = [*given.posonlyargs, *given.args]
            defaults = [*zip(reversed(positional), reversed(given.defaults), strict=False)]
            defaults += [(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None]
            yield from ((a.arg, default) for a, default in defaults if PARAMETER.search(a.arg))
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            if BOUNDED.search(name) and name.isupper() and name not in NO_WAITS:
                yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            for target, each in zip(names, values, strict=False):
                yield from _bounds(ast.Assign([target], each))


def _is_number(value: ast.expr) -> bool:
    """A number other than nothing, which is no wait, or arithmetic on such."""
    match value:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float() as number):
            return number != 0
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Tuple(elts=elements):
            return any(map(_is_number, elements))
    return False


def test_no_bound_is_written_where_it_is_used() -> None:
    found = [
        f"{name}:{line}: {what}"
        for path in sorted(path for source in SOURCES for path in (ROOT / source).rglob("*.py"))
        if path.name != "bounds.py" and not (name := str(path.relative_to(ROOT))).startswith(tuple(STANDALONE))
        for line, what in literals(path.read_text("utf-8"))
    ]
    assert not found, "put them into the package's bounds.py, with their reasons"


@pytest.mark.parametrize(
    "text",
    [
        "asyncio.timeout(5)",
        "asyncio.wait_for(it, 5)",
        "it.wait(5)",
        "it.wait(timeout=2 * 60)",
        "thread.join(1.5)",
        "settimeout(5)",
        "socket.create_connection(there, 5)",
        "subprocess.run(command, timeout=60)",
        "run(command, within_s=30.0)",
        "def wait(self, timeout_s: float = 10.0): ...",
        "async def wait(*, within_s=10): ...",
        "READY_WITHIN_S: Final = 10.0",
        "_DEADLINE = 10",
        "OPEN_S, HALT_S = 60.0, 60.0",
        "MOST_LINE_BYTES = 1 << 20",
    ],
)
def test_a_bound_that_is_a_number_is_found(text: str) -> None:
    assert [*literals(text)]


@pytest.mark.parametrize("text", ["it.wait(READY_S)", "select(0)", "TICK_S = 0.5", "', '.join(['1'])", "it.wait()"])
def test_what_is_no_literal_bound_is_left_alone(text: str) -> None:
    assert not [*literals(text)]


def test_nothing_is_excused_that_is_not_there() -> None:
    sources = "\n".join(path.read_text("utf-8") for source in SOURCES for path in (ROOT / source).rglob("*.py"))
    assert [name for name in NO_WAITS if not re.search(rf"^ *{name}\b.* = ", sources, re.MULTILINE)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_bound_has_a_unit_and_is_used(package: str) -> None:
    counted = re.compile(r"_(CONNECTIONS|DESCRIPTORS|DIGITS|FIELDS|MEMBERS|BUNDLES|PARTITIONS|CELLS|YEARS)$")
    wrong = [
        bound.name
        for bound in bounds_of(package)
        if not bound.users or not (bound.name.endswith(("_S", "_MS", "_BYTES")) or counted.search(bound.name))
    ]
    assert wrong == []
