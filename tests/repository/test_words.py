"""The glossary of ARCHITECTURE.md holds: no module, class or function is named by a word that it retires."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("conformance/assay_conformance", "faults/assay_faults", "fixtures/assay_fixtures", "reports/assay_reports")
MOST_WORDS = 60

ROW = re.compile(r"^\| (?P<word>[^|]+) \| (?P<meaning>[^|]+) \| (?P<retired>[^|]*)\|$", re.MULTILINE)
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

STILL = frozenset(
    {
        "Crew",
        "Foresight",
        "batching_key_based_order__id_told_before",
        "crews",
        "foresight",
        "harm",
        "harmed",
        "nothing_to_tell",
        "stray",
        "tell",
        "telling",
    }
)
"""Names of 2026-11-28 that wait to be renamed. One that is gone from the packages has to go from here."""


def glossary() -> list[tuple[str, frozenset[str]]]:
    """Each word of the glossary, with the words that it retires."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    section = text.partition("\n## Words\n")[2].partition("\n## ")[0]
    rows = [match for match in ROW.finditer(section) if match["word"] != "word"]
    return [(row["word"], frozenset(row["retired"].replace(",", " ").split())) for row in rows]


def words(name: str) -> frozenset[str]:
    """The words of a name in snake case or in capitals."""
    return frozenset(word.lower() for word in WORD.findall(name))


def defined(path: Path) -> Iterator[str]:
    """The name of a module, or of the package that it begins, and those of its classes and functions."""
    yield path.parent.name if path.stem == "__init__" else path.stem
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


@cache
def names() -> frozenset[str]:
    return frozenset(name for package in PACKAGES for path in (ROOT / package).rglob("*.py") for name in defined(path))


def retired() -> frozenset[str]:
    return frozenset().union(*(instead for _, instead in glossary()))


def test_glossary_has_at_most_sixty_words() -> None:
    assert 0 < len(glossary()) <= MOST_WORDS


def test_glossary_retires_none_of_its_own_words() -> None:
    assert {word for word, _ in glossary()} & retired() == set()


def test_no_name_has_a_retired_word() -> None:
    assert sorted(name for name in names() - STILL if words(name) & retired()) == []


def test_every_name_that_waits_is_still_there_and_has_a_retired_word() -> None:
    assert sorted(name for name in STILL if name not in names() or not words(name) & retired()) == []


def test_words_of_a_name_are_found_in_snake_case_and_in_capitals() -> None:
    assert words("_told_at") == {"told", "at"}
    assert words("HTTPTold2Nobody") == {"http", "told", "nobody"}
