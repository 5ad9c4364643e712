"""Lists of known failures of schema 1, one entry a Case, as documents of schema 2, one deviation a cause.

What has one reason has one cause. Schema 1 had no impact: such deviations are not rated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay_conformance.model.doors import shown
from assay_conformance.model.errors import UsageError
from assay_reports.deviations import new_id
from assay_reports.expectations_schema import SCHEMA, check_keys, tables_of, text

_OF_CAUSE = ("reason", "versions", "link", "expires", "stands_still")
"""Keys of an entry that are its cause's."""

_OF_PLACE = ("requirement", "code", "occurs", "excerpt", "replay", "leads_to")
"""Keys of an entry that are the place's."""

_ENTRY = {*_OF_CAUSE, *_OF_PLACE, "case"}
_SENTENCE = re.compile(r"(.+?)(?:[.:;](?:\s|\Z)|\Z)", re.DOTALL)

Table = Mapping[str, Any]


def upgraded(document: Table, where: str) -> dict[str, Any]:
    """Return a document of schema 2 that lists the same failures.

    Raises UsageError where an entry is none; what its values say is checked by who reads schema 2.
    """
    check_keys(document, {"schema", "agent", "broker", "scheme", "tested", "expect"}, where)
    causes: dict[str, list[Table]] = {}
    for number, entry in enumerate(tables_of(document, "expect", where), start=1):
        place = f"{where}: [[expect]] number {number}"
        check_keys(entry, _ENTRY, place)
        text(entry, "reason", place, "a sentence that says why this failure is accepted")
        for key in ("requirement", "case", "code", "versions"):
            if not isinstance(entry.get(key), str):
                came = f"is {shown(entry[key])}" if key in entry else "is missing"
                raise UsageError(f"{place}: {key!r} {came}, expected text")
        causes.setdefault(repr([entry.get(key) for key in _OF_CAUSE]), []).append(entry)
    taken: set[str] = set()
    made = [_deviation(entries, taken) for entries in causes.values()]
    rest = {key: value for key, value in document.items() if key != "expect"}
    return {**rest, "schema": SCHEMA, **({"deviation": made} if made else {})}


def _deviation(entries: Sequence[Table], taken: set[str]) -> dict[str, Any]:
    first = entries[0]
    return {
        "id": new_id(f"{first['requirement']}-{first['code']}", taken),
        "title": _title(str(first["reason"])),
        **{key: first[key] for key in _OF_CAUSE if key in first},
        "seen": [
            {"cases": [entry["case"]], **{key: entry[key] for key in _OF_PLACE if key in entry and entry[key] != []}}
            for entry in entries
        ],
    }


def _title(reason: str) -> str:
    match = _SENTENCE.match(reason.strip())
    return " ".join((match[1] if match else reason).split())
