"""expectations.toml: the deviations of a client, or of a real broker, that are known, with reason and evidence.

A listed failure is executed like any other and must stay what it was: one that no longer happens is stale, one past
its date is expired, and another finding code on a listed Case is a new failure. Wildcards exist over versions only,
so that an entry never hides a failure that was not looked at; but what fails in a Case may fail in its permutations,
and `@batched` is about every permutation with that circumstance.

Reading is in `expectations_schema`, files of schema 1 are brought to this one by `expectations_upgrade`, and
`expectations_text` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date
from pathlib import Path

import msgspec

from assay_conformance.model.case import PERMUTED, base_of, words_of
from assay_conformance.model.doors import parse_toml, shown
from assay_conformance.model.errors import UsageError
from assay_conformance.model.requirement import RequirementId
from assay_reports import expectations_schema as schema
from assay_reports.deviations import ANY_VERSION, Deviation, Occurs, Seen, in_range
from assay_reports.expectations_upgrade import upgraded
from assay_reports.files import read_text, understanding
from assay_reports.impact import Impact
from assay_reports.text import closest
from assay_reports.version_schemes import DEFAULT

GENERATED = "generated/"
"""In front of the id of every Case that was drawn, not written."""

_LEADS_TO = re.compile(schema.LEADS_TO)


class Expectation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """One listed failure: finding `code` of `requirement` in `case`. It is a place where a deviation is seen, with what
    holds there: the unit that a run is compared with.

    `leads_to` is what else its cause may bring about beside it: an exploration, whose Cases cannot be listed one by
    one, takes that for known where the failure itself shows. With `stands_still` that is everything.
    """

    requirement: RequirementId
    case: str
    code: str
    versions: str
    reason: str
    scheme: str = DEFAULT
    deviation: str = ""
    impact: Impact | None = None
    occurs: Occurs = Occurs.ALWAYS
    excerpt: str = ""
    replay: str = ""
    trigger: str = ""
    link: str = ""
    expires: date | None = None
    leads_to: tuple[str, ...] = ()
    stands_still: bool = False
    security: bool = False

    @property
    def consequences(self) -> tuple[tuple[str, str], ...]:
        """Return (requirement, finding code) of each breach that this failure may lead to."""
        return tuple((match[1], match[2]) for match in map(_LEADS_TO.match, self.leads_to) if match)

    def applies_to(self, version: str) -> bool:
        return in_range(version, self.versions, self.scheme)

    def is_about(self, case: str) -> bool:
        """Return whether the failure has to occur in this Case: if it occurs in none of those, the entry is stale."""
        return case == self.case if PERMUTED not in self.case else self._permutes(case)

    @property
    def names_a_case(self) -> bool:
        """Return whether the entry is about one Case, and not about a circumstance of any Case."""
        return bool(base_of(self.case))

    def excuses(self, case: str) -> bool:
        """Return whether the failure may occur in this Case."""
        return self.is_about(case) or self._permutes(case)

    def may_stay_away(self, case: str) -> bool:
        """Return whether the failure may occur in this Case but need not: it is a race, or one of several."""
        return self.excuses(case) and (self.occurs is Occurs.SOMETIMES or case != self.case)

    def _permutes(self, case: str) -> bool:
        base, words = base_of(self.case), words_of(self.case)
        return PERMUTED in case and base in ("", base_of(case)) and words <= words_of(case)


class Expectations(msgspec.Struct, frozen=True, kw_only=True):
    """The content of one file, of a client (`agent`) or of a broker (`broker`, its name). `tested` is the range of
    versions that were tested, `scheme` how versions are read."""

    agent: str = ""
    broker: str = ""
    tested: str
    scheme: str = DEFAULT
    deviations: tuple[Deviation, ...] = ()
    where: str = "no expectations file"

    @property
    def entries(self) -> tuple[Expectation, ...]:
        """Return every failure that is listed, in the order of the file."""
        return tuple(entry for deviation in self.deviations for entry in places(deviation, self.scheme))

    def covers(self, version: str) -> bool:
        return in_range(version, self.tested, self.scheme)


def places(deviation: Deviation, scheme: str = DEFAULT) -> Iterator[Expectation]:
    """Yield, for each Case in which a deviation is seen, the failure that is expected there."""
    for seen in deviation.seen:
        yield from (_place(deviation, seen, case, scheme) for case in seen.cases)


def _place(deviation: Deviation, seen: Seen, case: str, scheme: str) -> Expectation:
    still = deviation.stands_still if seen.stands_still is None else seen.stands_still
    return Expectation(
        requirement=seen.requirement,
        case=case,
        code=seen.code,
        versions=seen.versions or deviation.versions,
        scheme=scheme,
        reason=f"{deviation.reason} {seen.note}".strip(),
        deviation=deviation.id,
        impact=seen.impact or deviation.impact,
        occurs=seen.occurs,
        excerpt=seen.excerpt or deviation.excerpt,
        replay=seen.replay_of(case),
        trigger=seen.trigger,
        link=deviation.link,
        expires=deviation.expires,
        leads_to=seen.leads_to,
        stands_still=still,
        security=bool(deviation.security),
    )


def none_expected(agent: str, scheme: str = DEFAULT) -> Expectations:
    """Return what holds for a client without a file: nothing is known, so every failure is unexpected."""
    return Expectations(agent=agent, tested=ANY_VERSION, scheme=scheme)


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
    """Return the content of `path`, as `read_expectations_file` reads it."""
    return read_expectations_file(path).content


def read_expectations_file(path: Path) -> ExpectationsFile:
    """Read a list of known failures.

    Raises UsageError: one sentence with the file, the key and what was expected.
    """
    text = read_text(path, "a list of expectations")
    return ExpectationsFile(parse_expectations(text, str(path)), text, path.parent)


def parse_expectations(text: str, where: str) -> Expectations:
    """Return the content of a file with this text; `where` is the file's name in sentences.

    Raises UsageError as `read_expectations_file` does.
    """
    with understanding(where, "a list of expectations"):
        document = parse_toml(text.encode())
    if schema.major(document, where) == 1:
        document = upgraded(document, where)
    head = schema.head(document, where)
    found = Expectations(**head, deviations=schema.deviations(document, where, head["scheme"]), where=where)
    _refuse_twice(found)
    return found


def check_known(expectations: Expectations, requirements: Collection[str], cases: Collection[str]) -> None:
    """Raise UsageError when an entry names a requirement or a Case that does not exist.

    The suite does not know a generated Case: the entry of one has its replay file, which holds the Case.
    """
    drawn = {base_of(one.case) for one in expectations.entries if one.case.startswith(GENERATED) and one.replay}
    cases = {*cases, *drawn}
    for entry in expectations.entries:
        base = base_of(entry.case)
        led_to = [("leads_to", "requirement", requirement, requirements) for requirement, _ in entry.consequences]
        itself = ("requirement", "requirement", entry.requirement, requirements)
        for key, kind, value, known in (itself, ("cases", "case", base, cases), *led_to):
            if value and value not in known:
                raise UsageError(
                    f"{expectations.where}: deviation {entry.deviation}: {key!r} is {shown(value)}, expected the id of "
                    f"a {kind} that `assay list {kind}s` shows{closest(value, known)}"
                )


def _refuse_twice(found: Expectations) -> None:
    seen: dict[tuple[str, str, str, str], str] = {}
    for entry in found.entries:
        key = (entry.requirement, entry.case, entry.code, entry.versions)
        if key in seen:
            raise UsageError(
                f"{found.where}: deviation {entry.deviation}: expected each failure once, {seen[key]} lists "
                f"{entry.requirement} {entry.case} {entry.code} for the same 'versions'"
            )
        seen[key] = entry.deviation
