"""The pieces that scripts are made of, and which of them one needs: those it names, and those that these name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

MODULES: Final = ("symptoms", "runtime")
"""What is looked for stands before what everything is done with."""
RUNTIME: Final = "runtime"
OWN: Final = ("assay_", "__future__", "pulsar")
"""No imports of a script's: those of the suite are copied, and the two others it always has."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A function, a class or a constant: its text, the names it uses and does not make, and whose it is."""

    names: tuple[str, ...]
    source: str
    uses: frozenset[str]
    folder: str

    @property
    def is_constant(self) -> bool:
        return not self.source.startswith(("def ", "class "))


def needed(names: Iterable[str]) -> list[Piece]:
    """Return the pieces of these names and what they use, constants first."""
    known, found = pieces(), set[str]()
    left = [name for name in names if name in known]
    while left:
        name = left.pop()
        if name not in found:
            found.update(known[name].names)
            left += [used for used in known[name].uses if used in known]
    by_module = [piece for name, piece in known.items() if name == piece.names[0] and name in found]
    return sorted(by_module, key=lambda piece: (MODULES.index(piece.folder), not piece.is_constant))


def used(source: str) -> frozenset[str]:
    """Return the names that a text uses and does not make itself."""
    loaded, made = set[str](), set[str]()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                loaded.add(name)
            case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                made.add(name)
            case ast.ExceptHandler(name=str(name)):
                made.add(name)
    return frozenset(loaded - made)


@cache
def pieces() -> Mapping[str, Piece]:
    """Name -> piece, in the order they are written in."""
    found = (
        _piece(text, nodes, folder)
        for folder in MODULES
        for text in _texts(folder)
        for nodes in _top_level(ast.parse(text))
    )
    return {name: piece for piece in found for name in piece.names}


def imports(source: str) -> list[str]:
    """Return the import statements of what a text uses."""
    wanted = used(source)
    by_module: dict[str, list[str]] = {}
    for name, module in sorted(_imported().items()):
        if name in wanted:
            by_module.setdefault(module, []).append(name)
    plain = [f"import {name}" for name in by_module.pop("", ())]
    return plain + [f"from {module} import {', '.join(names)}" for module, names in sorted(by_module.items())]


@cache
def _imported() -> Mapping[str, str]:
    """Name -> the module that it is from, or "" where it is one."""
    found = {"timedelta": "datetime", "re": ""}
    for node in (node for folder in MODULES for text in _texts(folder) for node in ast.parse(text).body):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if not module.startswith(OWN):
                found |= {alias.name: module for alias in names}
            case ast.Import(names=names):
                found |= {alias.name: "" for alias in names if alias.name not in OWN}
    return found


def _piece(text: str, nodes: list[ast.stmt], folder: str) -> Piece:
    source = "\n".join(ast.get_source_segment(text, node) or "" for node in nodes)
    return Piece(names=tuple(_names(nodes[0])), source=source, uses=used(source) - {*_names(nodes[0])}, folder=folder)


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=targets):
            yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


def _top_level(module: ast.Module) -> Iterator[list[ast.stmt]]:
    """Return each statement with the text after it that documents it."""
    for node, behind in zip(module.body, [*module.body[1:], None], strict=True):
        if any(_names(node)):
            yield [node, behind] if isinstance(behind, ast.Expr) else [node]


def _texts(folder: str) -> Iterator[str]:
    """Of its modules, in the order of their names."""
    for one in sorted(files(__package__).joinpath(folder).iterdir(), key=lambda one: one.name):
        if one.name.endswith(".py"):
            yield one.read_text("utf-8")
