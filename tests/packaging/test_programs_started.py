"""What may start something itself is started by the keeper, which ends it with all that it started."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = (
    "conformance/assay_conformance",
    "faults/assay_faults",
    "fixtures/assay_fixtures",
    "reports/assay_reports",
)
MODULES = frozenset({"multiprocessing", "pty", "subprocess"})
"""Whoever imports one of these starts processes."""
STARTERS = ("exec", "fork", "popen", "posix_spawn", "spawn", "system")
"""What the functions of `os` begin with that start a process, or become another program."""
CALLS = frozenset({"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"})
"""Functions of asyncio and of its loops."""
POOL = "ProcessPoolExecutor"
KEPT_POOL = "Undisturbed"
"""The context whose processes the kernel ends with the one that started them."""

STARTS_THEM: Mapping[str, str] = {
    "faults/assay_faults/processes/keeper.py": "it starts the keeper",
    "faults/assay_faults/processes/_keeper.py": "it is the keeper",
    "fixtures/assay_fixtures/agents/_births.py": "it is a program of the keeper's, and what it forks is below it",
    "fixtures/assay_fixtures/pytesting/lives.py": (
        "an exploration ends by itself when pytest is gone, and writes down what it has found; its agents are kept"
    ),
    "fixtures/assay_fixtures/pytesting/session.py": (
        "the run is of several processes of pytest, and ends itself when the last of them has ended"
    ),
    "fixtures/assay_fixtures/runner/worker_processes.py": "it has a pool",
    "reports/assay_reports/spawning.py": "it makes the kernel end the processes of pools",
    "reports/assay_reports/export/runtime/ending.py": (
        "it is copied into scripts, which run without assay; it waits for one that runs the script once more"
    ),
}


def starts(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of whatever starts a process, past the keeper."""
    for node in ast.walk(ast.parse(text)):
        for name in _names(node):
            yield node.lineno, name  # type: ignore[attr-defined]


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (name.name for name in names if name.name.partition(".")[0] in MODULES)
        case ast.ImportFrom(module=str(module), names=names):
            if module.partition(".")[0] in MODULES:
                yield module
            elif module == "os":
                yield from (f"os.{name.name}" for name in names if name.name.startswith(STARTERS))
        case ast.Attribute(value=ast.Name(id="os"), attr=attr) if attr.startswith(STARTERS):
            yield f"os.{attr}"
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in CALLS:
            yield name
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name == POOL:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if not any(isinstance(one, ast.Call) and ast.unparse(one.func) == KEPT_POOL for one in given):
                yield name


def _found() -> Iterator[tuple[str, int, str]]:
    for path in sorted(path for source in SOURCES for path in (ROOT / source).rglob("*.py")):
        for line, what in starts(path.read_text("utf-8")):
            yield str(path.relative_to(ROOT)), line, what


def test_nothing_but_the_keeper_starts_a_program() -> None:
    found = [f"{name}:{line}: {what}" for name, line, what in _found() if name not in STARTS_THEM]
    assert not found, "have it started by assay_faults.processes, or assay_fixtures.programs, so that nothing is left"


def test_nobody_is_excused_who_starts_nothing() -> None:
    assert STARTS_THEM.keys() - {name for name, _, _ in _found()} == set()


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess",
        "import multiprocessing.pool",
        "from subprocess import run",
        "from multiprocessing.context import SpawnContext",
        "import pty",
        "from os import fork",
        "os.fork()",
        "os.posix_spawn(program, arguments, environment)",
        "os.execv(program, arguments)",
        "os.system('ls')",
        "asyncio.create_subprocess_exec('ls')",
        "loop.subprocess_shell(Protocol, 'ls')",
        "ProcessPoolExecutor(2)",
        "ProcessPoolExecutor(2, mp_context=get_context('spawn'))",
    ],
)
def test_whatever_starts_a_process_is_found(text: str) -> None:
    assert [*starts(text)]


@pytest.mark.parametrize(
    "text",
    [
        "ProcessPoolExecutor(2, Undisturbed())",
        "ProcessPoolExecutor(mp_context=Undisturbed())",
        "run(command)",
        "os.kill(1, 9)",
    ],
)
def test_what_starts_none_past_the_keeper_is_left_alone(text: str) -> None:
    assert not [*starts(text)]
