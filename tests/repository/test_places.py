"""From a requirement's id follow the places of its check, its Cases and its tests.

`chapter.some-words` is judged by `pulsar/checks/<chapter>/<some_words>.py`, made to occur by Cases in
`pulsar/cases/<chapter>.py` or below a folder of that name, broken by mutants in `pulsar/mutants/<chapter>.py` or
likewise, and its check is tried in `tests/conformance/pulsar/<chapter>/test_<some_words>.py`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import assay_conformance.pulsar.cases as cases
import assay_conformance.pulsar.checks as checks
import assay_conformance.pulsar.mutants as mutants
from assay_conformance.catalogue import load
from assay_conformance.model.requirement import Disposition
from assay_conformance.pulsar.registry import CHECKS

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests/conformance/pulsar"
REQUIREMENTS = load().requirements
TESTABLE = sorted(id for id, one in REQUIREMENTS.items() if one.disposition is not Disposition.NOT_TESTABLE)
LISTED = [(module.__name__, case) for module in cases.modules() for case in cases.cases_of(module)]


def words(id: str) -> tuple[str, str]:
    """The names of its chapter and of its modules."""
    chapter, name = id.split(".")
    return chapter.replace("-", "_"), name.replace("-", "_")


def chapter_of(module: str) -> str:
    """The chapter that a module of Cases or of mutants stands in."""
    return module.removeprefix("assay_conformance.pulsar.").split(".")[1]


def named(path: Path) -> Iterator[str]:
    """The modules that a file of tests imports from, itself or by what it shares with others."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module.startswith("tests.conformance.pulsar."):
                yield from named(ROOT.joinpath(*node.module.split(".")).with_suffix(".py"))


def test_checks_stand_where_their_ids_say() -> None:
    assert [id for id in TESTABLE if CHECKS[id].__module__ != ".".join((checks.__name__, *words(id)))] == []


def test_module_holds_the_check_of_one_requirement() -> None:
    held = Counter(CHECKS[id].__module__ for id in TESTABLE)
    assert [module for module, count in held.items() if count > 1] == []


def test_modules_of_checks_without_a_requirement_say_so_by_an_underscore() -> None:
    (root,) = checks.__path__
    modules = {path.relative_to(root).with_suffix("").parts for path in Path(root).rglob("[!_]*.py")}
    assert modules - {words(id) for id in TESTABLE} == set()


def test_requirements_have_a_case_in_their_chapter() -> None:
    there = {(chapter_of(module), id) for module, case in LISTED for id in case.requirements}
    assert [id for id in TESTABLE if (words(id)[0], id) not in there] == []


def test_case_stands_in_a_chapter_of_its_requirements() -> None:
    astray = [
        case.id for module, case in LISTED if chapter_of(module) not in {words(id)[0] for id in case.requirements}
    ]
    assert astray == []


def test_mutant_stands_in_the_chapter_of_the_requirement_that_is_to_catch_it() -> None:
    astray = [
        mutant.name
        for mutant in mutants.mutants().values()
        if chapter_of(mutant.overrides[0].__module__) != words(mutant.breaks[0])[0]
    ]
    assert astray == []


def test_checks_are_tried_where_their_ids_say() -> None:
    untried = []
    for id in TESTABLE:
        chapter, name = words(id)
        if f"{checks.__name__}.{chapter}.{name}" not in named(TESTS / chapter / f"test_{name}.py"):
            untried.append(id)
    assert untried == []


def test_files_of_tests_that_name_no_requirement_name_what_checks_share() -> None:
    (root,) = checks.__path__
    expected = {(chapter, f"test_{name}") for chapter, name in map(words, TESTABLE)}
    for path in (path for path in TESTS.rglob("test_*.py") if path.parent.name != "timeline"):
        chapter, name = path.relative_to(TESTS).with_suffix("").parts
        assert (chapter, name) in expected or (Path(root) / chapter / f"{name.removeprefix('test')}.py").exists(), path
