"""From the TOML document of a list of known deviations to checked values, with one sentence for every mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from enum import StrEnum
from typing import Any

from assay_conformance.model.case import PERMUTED
from assay_conformance.model.doors import shown
from assay_conformance.model.errors import UsageError
from assay_conformance.model.renamed import current
from assay_conformance.model.unknown_keys import nearest
from assay_reports.deviations import ANY_VERSION, Deviation, Occurs, Seen
from assay_reports.impact import Impact
from assay_reports.version_schemes import DEFAULT, SCHEMES

SCHEMA_MAJOR = 2
SCHEMA = f"{SCHEMA_MAJOR}.0"
LEADS_TO = r"([a-z0-9.-]+): ([a-z0-9][a-z0-9-]*)\Z"

_CODE = re.compile(r"[a-z0-9][a-z0-9-]*\Z")
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*\Z")
_ID = re.compile(rf"[A-Za-z0-9._/{PERMUTED}+-]+\Z")
_OWNERS = {
    "agent": "the id of the agent, such as pulsar-python",
    "broker": "the name of the broker, such as Apache Pulsar",
}

Table = Mapping[str, Any]
Reader = Callable[[Table, str, str], Any]
"""(table, key, where) -> the checked value."""


def major(document: Table, where: str) -> int:
    """Return the major version of the file's schema. UsageError for one that this assay does not read."""
    value = document.get("schema")
    number = value.partition(".")[0] if isinstance(value, str) else ""
    if not number.isdecimal():
        raise UsageError(f"{where}: 'schema' is {shown(value)}, expected \"{SCHEMA}\"")
    if not 1 <= int(number) <= SCHEMA_MAJOR:
        raise UsageError(f"{where}: 'schema' is {shown(value)}, expected at most {SCHEMA_MAJOR}.x; use a newer assay")
    return int(number)


def head(document: Table, where: str) -> dict[str, str]:
    """Return whose failures the file lists, the versions it was tested with, and how versions are read, by their keys.

    Raises UsageError, which names `where`, for an unknown key or a wrong value.
    """
    check_keys(document, {"schema", "agent", "broker", "scheme", "tested", "deviation"}, where)
    owner = "broker" if "broker" in document else "agent"
    if owner == "broker" and "agent" in document:
        raise UsageError(f"{where}: expected either 'agent' or 'broker': the failures of one have a file of their own")
    scheme = document.get("scheme", DEFAULT)
    if scheme not in SCHEMES:
        raise UsageError(f"{where}: 'scheme' is {shown(scheme)}, expected one of {', '.join(SCHEMES)}")
    tested = _range(scheme)(document, "tested", where)
    return {owner: text(document, owner, where, _OWNERS[owner]), "scheme": scheme, "tested": tested}


def deviations(document: Table, where: str, scheme: str) -> tuple[Deviation, ...]:
    """Return the causes of a document. UsageError with the place, the key and what was expected."""
    tables = tables_of(document, "deviation", where)
    found = tuple(_deviation(table, f"{where}: {_place(table, i)}", scheme) for i, table in enumerate(tables, start=1))
    first: set[str] = set()
    for number, one in enumerate(found, start=1):
        if one.id in first:
            raise UsageError(f"{where}: [[deviation]] number {number}: 'id' is {one.id!r}, expected each id once")
        first.add(one.id)
    return found


def _place(table: Table, number: int) -> str:
    named = table.get("id")
    return f"deviation {named}" if isinstance(named, str) and _NAME.match(named) else f"[[deviation]] number {number}"


def _deviation(table: Table, where: str, scheme: str) -> Deviation:
    readers = {**_DEVIATION, "versions": _range(scheme)}
    values = _read(table, readers, where, needed=("id", "title", "versions", "reason"), more=("seen",))
    tables = tables_of(table, "seen", where, "deviation.seen")
    seen = tuple(_seen(one, f"{where}: [[deviation.seen]] number {i}", scheme) for i, one in enumerate(tables, start=1))
    if not seen:
        raise UsageError(f"{where}: expected at least one [[deviation.seen]], a place where it is seen")
    return Deviation(**values, seen=seen)


def _seen(table: Table, where: str, scheme: str) -> Seen:
    readers = {**_SEEN, "versions": _range(scheme)}
    return Seen(**_read(table, readers, where, needed=("requirement", "code", "cases")))


def _read(
    table: Table, readers: Mapping[str, Reader], where: str, needed: Sequence[str], more: Sequence[str] = ()
) -> dict[str, Any]:
    check_keys(table, {*readers, *more}, where)
    return {key: reader(table, key, where) for key, reader in readers.items() if key in table or key in needed}


# --- values -----------------------------------------------------------------------------------------------------------


def text(table: Table, key: str, where: str, meaning: str) -> str:
    """Return a text that says something. UsageError otherwise, which says `meaning`."""
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        came = f"is {shown(value)}" if key in table else "is missing"
        raise UsageError(f"{where}: {key!r} {came}, expected {meaning}")
    return value


def _text(meaning: str) -> Reader:
    return lambda table, key, where: text(table, key, where, meaning)


def _matching(pattern: re.Pattern[str], meaning: str) -> Reader:
    def read(table: Table, key: str, where: str) -> str:
        value = text(table, key, where, meaning)
        if not pattern.match(value):
            raise UsageError(f"{where}: {key!r} is {shown(value)}, expected {meaning}; wildcards are for versions")
        return current(value)

    return read


def _texts(pattern: re.Pattern[str], meaning: str) -> Reader:
    def fits(one: object) -> bool:
        return isinstance(one, str) and pattern.match(one) is not None

    def read(table: Table, key: str, where: str) -> tuple[str, ...]:
        value = table.get(key)
        if not isinstance(value, list) or not value or not all(map(fits, value)):
            came = f"is {shown(value)}" if key in table else "is missing"
            raise UsageError(f"{where}: {key!r} {came}, expected a list of {meaning}; wildcards are for versions")
        if len(set(value)) < len(value):
            raise UsageError(f"{where}: {key!r} is {shown(value)}, expected each of them once")
        return tuple(map(current, value))

    return read


def _range(scheme: str) -> Reader:
    rules = SCHEMES[scheme]

    def read(table: Table, key: str, where: str) -> str:
        value = text(table, key, where, f'a version range such as "{rules.range_example}" or "*"')
        if value == ANY_VERSION:
            return value
        try:
            rules.ranges(value)
        except ValueError:
            expected = f'a {rules.title} version range such as "{rules.range_example}", or "*"'
            raise UsageError(f"{where}: {key!r} is {shown(value)}, expected {expected}") from None
        return value

    return read


def _word(kind: type[StrEnum]) -> Reader:
    def read(table: Table, key: str, where: str) -> StrEnum:
        value, words = table[key], [one.value for one in kind]
        if value not in words:
            listed = ", ".join(f'"{word}"' for word in words[:-1])
            raise UsageError(f'{where}: {key!r} is {shown(value)}, expected {listed} or "{words[-1]}"')
        return kind(value)

    return read


def _flag(table: Table, key: str, where: str) -> bool:
    value = table[key]
    if not isinstance(value, bool):
        raise UsageError(f"{where}: {key!r} is {shown(value)}, expected true or false")
    return value


def _day(table: Table, key: str, where: str) -> date:
    value = table[key]
    # A TOML date-time is a `datetime`, which is a `date` to isinstance.
    if type(value) is not date:
        raise UsageError(f"{where}: {key!r} is {shown(value)}, expected a date without quotes such as 2027-01-31")
    return value


_DEVIATION: Mapping[str, Reader] = {
    "id": _matching(_NAME, "a name of its own in lower case with dashes"),
    "title": _text("a title of a few words"),
    "reason": _text("a sentence that says why this failure is accepted"),
    "impact": _word(Impact),
    "effect": _text("a sentence for the owner of an application"),
    "excerpt": _text("text"),
    "disputable": _text("text"),
    "link": _text("text"),
    "expires": _day,
    "stands_still": _flag,
    "security": _text("the contact to report it to first, such as an address"),
}

_SEEN: Mapping[str, Reader] = {
    "requirement": _matching(_ID, "one requirement id"),
    "code": _matching(_CODE, "one finding code in lower case with dashes"),
    "cases": _texts(_ID, 'Case ids such as "resend/queue-order"'),
    "occurs": _word(Occurs),
    "note": _text("text"),
    "excerpt": _text("text"),
    "replay": _text("text"),
    "trigger": _text("text"),
    "leads_to": _texts(re.compile(LEADS_TO), 'failures such as "delivery.successful-send-is-stored: not-stored"'),
    "stands_still": _flag,
    "impact": _word(Impact),
}


def check_keys(table: Table, known: Collection[str], where: str) -> None:
    """Raise UsageError for a key that is not known."""
    for key in table:
        if key not in known:
            near = nearest(str(key), known)
            raise UsageError(f"{where}: unknown key {shown(key)}{near}; expected one of {', '.join(sorted(known))}")


def tables_of(document: Table, key: str, where: str, name: str = "") -> list[Table]:
    """Return the [[key]] tables of a document, none if there is no such key."""
    tables = document.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f'{where}: "{key}" is {shown(tables)}, expected [[{name or key}]] tables')
    return tables
