"""Who blames a client for having left a connection asks first whether the machine made it leave."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import assay_conformance.checks as neutral_checks
import assay_conformance.pulsar.checks as pulsar_checks

LEFT: Final = frozenset({"connection-closed", "left-the-connection"})
"""Codes of findings that say so."""
ASKS: Final = frozenset({"may_have_heard_nothing", "left_over", "left_over_messages", "left_without_reason"})


def _blaming() -> Iterator[tuple[str, frozenset[str]]]:
    """Each module of checks with such a code, and what it names."""
    roots = (*neutral_checks.__path__, *pulsar_checks.__path__)
    for path in sorted(path for root in roots for path in Path(root).rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        codes = {node.value for node in nodes if isinstance(node, ast.Constant)}
        if not LEFT.isdisjoint(code for code in codes if isinstance(code, str)):
            names = {node.id for node in nodes if isinstance(node, ast.Name)}
            yield path.stem, frozenset(names | {node.attr for node in nodes if isinstance(node, ast.Attribute)})


def test_whoever_blames_a_client_for_leaving_asks_whether_it_may_have_heard_nothing() -> None:
    blaming = dict(_blaming())
    assert len(blaming) >= 6
    assert [module for module, names in blaming.items() if ASKS.isdisjoint(names)] == []
