"""expectations.toml: the failures of a client, or of a real broker, that are known, with reason and evidence.

A listed failure is executed like any other and must stay what it was: one that no longer happens is stale, one past
its date is expired, and another finding code on a listed Case is a new failure. Wildcards exist over versions only,
so that an entry never hides a failure nobody has looked at; but what fails in a Case may fail in its permutations, and
`case = "@batched"` is about every permutation with that circumstance.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from assay_conformance.model.case import PERMUTED, base_of, words_of
from assay_conformance.model.doors import parse_toml, shown
from assay_conformance.model.errors import UsageError
from assay_conformance.model.requirement import RequirementId
from assay_reports.files import read_text, understanding
from assay_reports.text import closest

SCHEMA_MAJOR = 1
ANY_VERSION = "*"
GENERATED = "generated/"
"""In front of the id of every Case that was drawn, not written."""

_CODE = re.compile(r"[a-z0-9][a-z0-9-]*\Z")
_ID = re.compile(rf"[A-Za-z0-9._/{PERMUTED}+-]+\Z")
_LEADS_TO = re.compile(r"([a-z0-9.-]+): ([a-z0-9][a-z0-9-]*)\Z")


class Occurs(StrEnum):
    """`sometimes` is for races the bench cannot force: such a failure may stay away without being stale."""

    ALWAYS = "always"
    SOMETIMES = "sometimes"


class Expectation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """One listed failure: finding `code` of `requirement` in `case`, for the versions of its owner in `versions`.

    `case` is a Case, where the failure has to show, and in whose permutations it may; or `CASE@WORD+...` or
    `@WORD+...`, permutations of one Case, or of any, with these circumstances.

    `leads_to` is what else its cause may bring about beside it, each as `REQUIREMENT: CODE`: an exploration, whose
    Cases nobody can list one by one, takes that for known where the failure itself shows. With `stands_still` that is
    everything: the client does nothing any more, and whatever it owed from then on is owed by nobody.

    `excerpt` is the wire excerpt that shows it, `replay` the name of its replay file, `expires` the last day the entry
    holds. `versions` is a PEP 440 range, or `*`.
    """

    requirement: RequirementId
    case: str
    code: str
    versions: str
    reason: str
    occurs: Occurs = Occurs.ALWAYS
    excerpt: str = ""
    replay: str = ""
    link: str = ""
    expires: date | None = None
    leads_to: tuple[str, ...] = ()
    stands_still: bool = False

    @property
    def consequences(self) -> tuple[tuple[str, str], ...]:
        """(requirement, finding code) of what it leads to."""
        return tuple((match[1], match[2]) for match in map(_LEADS_TO.match, self.leads_to) if match)

    def applies_to(self, version: str) -> bool:
        return in_range(version, self.versions)

    def is_about(self, case: str) -> bool:
        """Whether the failure has to show there: if it stays away everywhere, the entry is stale."""
        return case == self.case if PERMUTED not in self.case else self._permutes(case)

    @property
    def names_a_case(self) -> bool:
        """Whether it is about one Case, and not about circumstances of any."""
        return bool(base_of(self.case))

    def excuses(self, case: str) -> bool:
        """Whether the failure may show there."""
        return self.is_about(case) or self._permutes(case)

    def may_stay_away(self, case: str) -> bool:
        """Whether the failure may show there and need not: it is a race, or the Case one of several it is about."""
        return self.excuses(case) and (self.occurs is Occurs.SOMETIMES or case != self.case)

    def _permutes(self, case: str) -> bool:
        base, words = base_of(self.case), words_of(self.case)
        return PERMUTED in case and base in ("", base_of(case)) and words <= words_of(case)


class Expectations(msgspec.Struct, frozen=True, kw_only=True):
    """The content of one file, of a client (`agent`) or of a broker (`broker`, its name). `tested` is the range of
    versions somebody ran the suite against."""

    agent: str = ""
    broker: str = ""
    tested: str
    entries: tuple[Expectation, ...] = ()
    where: str = "no expectations file"

    def covers(self, version: str) -> bool:
        return in_range(version, self.tested)


def in_range(version: str, versions: str) -> bool:
    """Whether `version` lies in a PEP 440 range; pre-releases count. A version that is none lies in `*` alone."""
    if versions == ANY_VERSION:
        return True
    try:
        return SpecifierSet(versions).contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def none_expected(agent: str) -> Expectations:
    """What holds for a client without a file: nothing is known, so every failure is unexpected."""
    return Expectations(agent=agent, tested=ANY_VERSION)


class Known(msgspec.Struct, frozen=True):
    """What is expected of a client or of a broker, and the version that was met."""

    expectations: Expectations
    version: str


class ExpectationsFile(msgspec.Struct, frozen=True):
    """What was read, the text it was read from (None: there is no file, and nothing is expected), and the folder with
    the replay files that it names."""

    content: Expectations
    text: str | None
    folder: Path


def read_expectations(path: Path) -> Expectations:
    """The content of `path`, as `read_expectations_file` reads it."""
    return read_expectations_file(path).content


def read_expectations_file(path: Path) -> ExpectationsFile:
    """UsageError: one sentence with the file, the key and what was expected."""
    text = read_text(path, "a list of expectations")
    return ExpectationsFile(parse_expectations(text, str(path)), text, path.parent)


def parse_expectations(text: str, where: str) -> Expectations:
    """The content of a file with this text; `where` is the file's name in sentences."""
    with understanding(where, "a list of expectations"):
        document = parse_toml(text.encode())
    _check_keys(document, {"schema", "agent", "broker", "tested", "expect"}, where)
    _check_schema(document, where)
    owner = "broker" if "broker" in document else "agent"
    if owner == "broker" and "agent" in document:
        raise UsageError(f"{where}: expected either 'agent' or 'broker': the failures of one have a file of their own")
    tables = document.get("expect", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f'{where}: "expect" is {shown(tables)}, expected [[expect]] tables')
    entries = tuple(_entry(table, f"{where}: [[expect]] number {i}") for i, table in enumerate(tables, start=1))
    _refuse_twice(entries, where)
    return Expectations(
        **{owner: _text(document, owner, where, _OWNERS[owner])},
        tested=_range(document, "tested", where),
        entries=entries,
        where=where,
    )


_OWNERS = {
    "agent": "the id of the agent, such as pulsar-python",
    "broker": "the name of the broker, such as Apache Pulsar",
}


def check_known(expectations: Expectations, requirements: Collection[str], cases: Collection[str]) -> None:
    """UsageError when an entry names a requirement or a Case that does not exist.

    A generated Case is none of the suite's: an entry of one has its replay file, and that is the Case.
    """
    drawn = {base_of(one.case) for one in expectations.entries if one.case.startswith(GENERATED) and one.replay}
    cases = {*cases, *drawn}
    for number, entry in enumerate(expectations.entries, start=1):
        base = base_of(entry.case)
        led_to = [("leads_to", "requirement", requirement, requirements) for requirement, _ in entry.consequences]
        itself = ("requirement", "requirement", entry.requirement, requirements)
        for key, kind, value, known in (itself, ("case", "case", base, cases), *led_to):
            if value and value not in known:
                raise UsageError(
                    f"{expectations.where}: [[expect]] number {number}: {key!r} is {shown(value)}, expected the id of "
                    f"a {kind} that `assay list {kind}s` shows{closest(value, known)}"
                )


def _entry(table: Mapping[str, Any], where: str) -> Expectation:
    _check_keys(table, set(Expectation.__struct_fields__), where)
    values: dict[str, Any] = {key: _text(table, key, where, meaning) for key, meaning in _REQUIRED.items()}
    values["versions"] = _range(table, "versions", where)
    for key in ("requirement", "case", "code"):
        pattern = _CODE if key == "code" else _ID
        if not pattern.match(values[key]):
            raise UsageError(
                f"{where}: {key!r} is {shown(values[key])}, expected {_REQUIRED[key]}; wildcards are for versions"
            )
    for key in ("excerpt", "replay", "link"):
        if key in table:
            values[key] = _text(table, key, where, "text")
    values["leads_to"] = _leads_to(table, where)
    values["stands_still"] = _stands_still(table, where)
    values["occurs"] = _occurs(table, where)
    values["expires"] = _expires(table, where)
    return Expectation(**values)


_REQUIRED = {
    "requirement": "one requirement id",
    "case": "one Case id",
    "code": "one finding code in lower case with dashes",
    "reason": "a sentence that says why this failure is accepted",
}


def _text(table: Mapping[str, Any], key: str, where: str, meaning: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        came = f"is {shown(value)}" if key in table else "is missing"
        raise UsageError(f"{where}: {key!r} {came}, expected {meaning}")
    return value


def _range(table: Mapping[str, Any], key: str, where: str) -> str:
    value = _text(table, key, where, 'a version range such as ">=3.5,<4" or "*"')
    if value == ANY_VERSION:
        return value
    try:
        SpecifierSet(value)
    except InvalidSpecifier:
        raise UsageError(
            f'{where}: {key!r} is {shown(value)}, expected a PEP 440 version range such as ">=3.5,<4", "==3.13.*" '
            'or "*"'
        ) from None
    return value


def _leads_to(table: Mapping[str, Any], where: str) -> tuple[str, ...]:
    value = table.get("leads_to", [])
    if not isinstance(value, list) or not all(isinstance(word, str) and _LEADS_TO.match(word) for word in value):
        raise UsageError(
            f"{where}: 'leads_to' is {shown(value)}, expected a list of failures such as "
            f'"delivery.ok-is-stored: not-stored"; wildcards are for versions'
        )
    return tuple(value)


def _stands_still(table: Mapping[str, Any], where: str) -> bool:
    value = table.get("stands_still", False)
    if not isinstance(value, bool):
        raise UsageError(f"{where}: 'stands_still' is {shown(value)}, expected true or false")
    return value


def _occurs(table: Mapping[str, Any], where: str) -> Occurs:
    value = table.get("occurs", Occurs.ALWAYS.value)
    if value not in tuple(Occurs):
        raise UsageError(f'{where}: \'occurs\' is {shown(value)}, expected "always" or "sometimes"')
    return Occurs(value)


def _expires(table: Mapping[str, Any], where: str) -> date | None:
    value = table.get("expires")
    # A TOML date-time is a `datetime`, which is a `date` to isinstance.
    if value is not None and type(value) is not date:
        raise UsageError(f"{where}: 'expires' is {shown(value)}, expected a date without quotes such as 2027-01-31")
    return value


def _check_keys(table: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"{where}: unknown key {shown(key)}, expected one of {', '.join(sorted(known))}")


def _check_schema(document: Mapping[str, Any], where: str) -> None:
    value = document.get("schema")
    major = value.partition(".")[0] if isinstance(value, str) else ""
    if not major.isdecimal():
        raise UsageError(f"{where}: 'schema' is {shown(value)}, expected \"{SCHEMA_MAJOR}.0\"")
    if int(major) != SCHEMA_MAJOR:
        raise UsageError(f"{where}: 'schema' is {shown(value)}, expected {SCHEMA_MAJOR}.x, which this assay reads")


def _refuse_twice(entries: Iterable[Expectation], where: str) -> None:
    seen: dict[tuple[str, str, str, str], int] = {}
    for number, entry in enumerate(entries, start=1):
        key = (entry.requirement, entry.case, entry.code, entry.versions)
        if key in seen:
            raise UsageError(
                f"{where}: [[expect]] number {number}: expected each failure once, number {seen[key]} lists "
                f"{entry.requirement} {entry.case} {entry.code} for the same 'versions'"
            )
        seen[key] = number
