"""Unknown keys in files that people write or edit: a misspelt key that is ignored would leave its default in force.

Whatever can stand in a Case, a fault, a replay file or a TOML file forbids unknown fields, subclasses too. Agents'
lines, histories, verdicts and the other files of a run are written by programs, newer ones too: there unknown keys are
passed over.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import inspect

from assay_conformance.model.renamed import hint

_LONGEST_WORD: Final = 200
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*?)`(?: - at `\$\.?(?P<place>[^`]*)`)?", re.DOTALL)
_ITEM = re.compile(r"\[(\.\.\.|[0-9]+)\]")


def closest(word: str, known: Iterable[str]) -> str:
    """Return what to write instead of an id: the name it has now, or the nearest of those that are known; "" for
    neither."""
    return hint(word) or nearest(word, known)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" for a word that is no id, such as a key; empty without a near one."""
    # Its time grows with the square of a word.
    near = difflib.get_close_matches(word, list(known), n=1) if len(word) <= _LONGEST_WORD else ()
    return f"; did you mean {near[0]!r}?" if near else ""


def unknown_key(complaint: str, shape: Any) -> tuple[str, str, str] | None:
    """Return what msgspec's complaint about a value of `shape` says of an unknown key.

    That is the key, the place of its table, such as `topology.topics` ("" for the outermost), and what to write
    instead: `; did you mean ...` or `; expected ...`. None where it complains of something else.
    """
    found = _UNKNOWN.fullmatch(complaint)
    if found is None:
        return None
    place = _ITEM.sub("", found["place"] or "").strip(".")
    known = sorted({name for table in _tables_at(shape, place) for name in _keys(table)})
    expected = f"; expected one of {', '.join(known)}" if known else ""
    return found["key"], place, nearest(found["key"], known) or expected


def _keys(table: inspect.StructType) -> Iterator[str]:
    yield from (field.encode_name for field in table.fields)
    if table.tag_field is not None:
        yield table.tag_field


def _tables_at(shape: Any, place: str) -> list[inspect.StructType]:
    """Return the tables that can stand at a place: of a union, all that are in it."""
    tables = list(_tables(inspect.type_info(shape)))
    for name in filter(None, place.split(".")):
        fields = (field for table in tables for field in table.fields if field.encode_name == name)
        tables = [inner for field in fields for inner in _tables(field.type)]
    return tables


def _tables(kind: inspect.Type) -> Iterator[inspect.StructType]:
    match kind:
        case inspect.StructType():
            yield kind
        case inspect.UnionType(types=types):
            for one in types:
                yield from _tables(one)
        case inspect.CollectionType(item_type=item):
            yield from _tables(item)
        case inspect.VarTupleType(item_type=item):
            yield from _tables(item)
        case inspect.TupleType(item_types=items):
            for one in items:
                yield from _tables(one)
        case inspect.DictType(value_type=value):
            yield from _tables(value)
        case inspect.Metadata(type=inner):
            yield from _tables(inner)
