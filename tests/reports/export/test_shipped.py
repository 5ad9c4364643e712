"""Every failure that is shipped becomes a script that stands alone, or the document says why it does not."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from assay_conformance.model.errors import UsageError
from assay_fixtures.agents.manifest import find
from assay_reports.export import export
from assay_reports.export.script import function_name
from assay_reports.replay import read_replay

REPLAYS = sorted((find("pulsar-python").folder / "replays").glob("*.json"))
OPTIONS = {role.value: names for role, names in find("pulsar-python").options.items()}
DOCUMENT = Path(__file__).parents[3] / "docs" / "export-a-failure.md"
OWN = {"pulsar", "__future__"}
OF_THE_SUITE = re.compile(
    r"assay-\d|(?<![-\w])(client|producer|consumer|handle|operation) \d|the Case|ended unknown|\bagent\b|reduced from"
    r"|[Ff]ound by chance|open_(client|producer|consumer) of"
)
LONGEST_MEDIAN = 270


@cache
def _script(path: Path) -> str:
    return export(read_replay(path.read_bytes(), str(path)), OPTIONS, path.stem).script


@cache
def _refused() -> dict[str, str]:
    """Which are not exported, and the sentence."""
    told = {}
    for path in REPLAYS:
        try:
            _script(path)
        except UsageError as error:
            told[path.stem] = str(error)
    return told


EXPORTED = pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)


def _text(path: Path) -> str:
    if path.stem in _refused():
        pytest.skip("it is not exported, as the document says")
    return _script(path)


def test_document_says_which_shipped_failures_are_not_exported_and_why() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    listed = {name: reason for name, reason in rows if (REPLAYS[0].parent / f"{name}.json").exists()}
    assert set(listed) == set(_refused())
    for name, reason in listed.items():
        assert _refused()[name].startswith(reason)


@EXPORTED
def test_script_looks_for_all_that_is_listed_by_its_replay(path: Path) -> None:
    text, replay = _text(path), read_replay(path.read_bytes(), str(path))
    looked_for = {node.id for node in ast.walk(ast.parse(text).body[-1]) if isinstance(node, ast.Name)}
    assert {function_name(breach) for breach in replay.breaches} <= looked_for


@EXPORTED
def test_script_needs_the_client_and_the_standard_library_alone(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(_text(path))))
    imported = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {(node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
    assert imported <= OWN | set(sys.stdlib_module_names)
    assert not _unknown(nodes)


@EXPORTED
def test_script_has_nothing_that_it_does_not_use(path: Path) -> None:
    module = ast.parse(_text(path))
    nodes = list(ast.walk(module))
    imports = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    made = {alias.name for node in imports for alias in node.names} - {"annotations"}
    made |= {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    made |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert made - used - {"_"} == set()


@EXPORTED
def test_script_says_nothing_in_words_of_the_suite(path: Path) -> None:
    before = _text(path).partition("# --- What the above is made of ---")[0]
    assert OF_THE_SUITE.search(before) is None


def test_scripts_are_short() -> None:
    lengths = [len(_script(path).splitlines()) for path in REPLAYS if path.stem not in _refused()]
    assert median(lengths) <= LONGEST_MEDIAN


def _unknown(nodes: list[ast.AST]) -> set[str]:
    """Names that are used and that nothing in the script makes."""
    made = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    made |= {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            made |= {alias.asname or alias.name for alias in node.names}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - made - set(dir(builtins)) - {"__name__"}
