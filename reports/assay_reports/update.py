"""Bringing a list of known deviations to what a run showed: its text is edited, so that order and comments stay.

A failure that went stale is taken out where it was listed for this version alone; else its range learns that this
version is better, since the run says nothing about the others. Failures that are not listed become a deviation for each
cause, which is what shows in the same Cases, without a reason, unless one is given: no reader takes the file until a
person has written one. A list of schema 1 is written in schema 2 whenever something changes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from assay_conformance.model.errors import UsageError
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Expected, Finding
from assay_reports.causes import together
from assay_reports.deviations import ANY_CASE, ANY_VERSION, Deviation, Seen, new_id
from assay_reports.expectation_matching import EntryState, codes_of
from assay_reports.expectations import Expectation, Expectations, parse_expectations, places
from assay_reports.expectations_schema import SCHEMA_MAJOR
from assay_reports.expectations_text import deviation_text, render
from assay_reports.impact import Impact
from assay_reports.verdicts import Verdicts

# With the comment right above it, which is about it.
_HEAD = re.compile(r"(?:^#.*\n)*^\[\[deviation\]\]", re.MULTILINE)
_COMMENT = re.compile(r"\A(?:#.*\n)+")
_COMMENT_LINES = re.compile(r"^#.*\n", re.MULTILINE)
_SCHEMA = re.compile(r"^schema[ \t]*=[ \t]*[\"']([0-9]+)", re.MULTILINE)
_FILLER = "a reason is to be written here"

Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Updated:
    """The new text and what was done, one line each. `unreasoned` deviations, of those `added`, wait for a person's
    reason."""

    text: str
    done: tuple[str, ...]
    unreasoned: int
    added: tuple[Expectation, ...] = ()


def update(
    text: str,
    where: str,
    run: Verdicts,
    reason: str = "",
    *,
    impact: Impact | None = None,
    not_the_clients: Collection[str] = (),
    replays: Mapping[str, str] = MappingProxyType({}),
) -> Updated:
    """Return the file's `text` after the run.

    Failures of `not_the_clients`, requirements that a broker has to keep, are not added to what is known of a client.
    `replays`: by Case, the replay file beside the list that a new entry names.

    Raises UsageError for a file that is none, or of another agent.
    """
    listed = parse_expectations(text, where)
    if listed.agent != run.subject.agent:
        raise UsageError(f"{where}: 'agent' is {listed.agent!r}, expected {run.subject.agent!r}, the agent of the run")
    version = run.subject.version
    stale = {_key(one.expectation) for one in run.expectations if not one.broker and one.state is EntryState.STALE}
    kept = {one.id: _without(one, stale, version) for one in listed.deviations}
    done = [line for one in listed.deviations for line in _lines(one, stale, version)]
    unlisted = (one for one in _unlisted(run, listed.entries, version, replays) if one[0] not in not_the_clients)
    new = tuple(_new(list(unlisted), version, reason or _FILLER, impact, {one.id for one in listed.deviations}))
    added = tuple(entry for one in new for entry in places(one))
    done += [f"added     {_named(entry)}" for entry in added]
    if not done:
        return Updated(text, (), 0)
    wanted = [*(one for one in kept.values() if one is not None), *new]
    after = _edited(_of_this_schema(text, listed), where, listed, kept) + "".join(
        f"\n{deviation_text(one)}" for one in new
    )
    _verify(after, where, wanted)
    if not reason:
        after = _waiting(after)
    return Updated(after, tuple(done), 0 if reason else len(new), added)


def with_triggers(text: str, where: str, triggers: Mapping[tuple[str, int], str]) -> str:
    """Return the file's `text` with a replay file as the trigger of each of these places: (deviation, which of those
    it is seen in)."""
    listed = parse_expectations(text, where)
    kept: dict[str, Deviation] = {}
    for one in listed.deviations:
        seen = [
            msgspec.structs.replace(seen, trigger=triggers.get((one.id, number), seen.trigger))
            for number, seen in enumerate(one.seen)
        ]
        kept[one.id] = msgspec.structs.replace(one, seen=tuple(seen))
    after = _edited(_of_this_schema(text, listed), where, listed, kept)
    _verify(after, where, list(kept.values()))
    return after


def _key(entry: Expectation) -> Key:
    return (entry.requirement, entry.case, entry.code, entry.versions)


def _named(entry: Expectation) -> str:
    return f"{entry.requirement} in {entry.case}: {entry.code}"


def _lines(deviation: Deviation, stale: Collection[Key], version: str) -> Iterator[str]:
    for entry in places(deviation):
        if _key(entry) in stale:
            after = _narrowed(entry.versions, version)
            yield f"pruned    {_named(entry)}" if after is None else f"narrowed  {_named(entry)}: {after}"


def _narrowed(versions: str, version: str) -> str | None:
    """Return the range without this version; None when it was about no other."""
    if versions == f"=={version}":
        return None
    return f"!={version}" if versions == ANY_VERSION else f"{versions},!={version}"


def _without(deviation: Deviation, stale: Collection[Key], version: str) -> Deviation | None:
    """Return the deviation as it is known after the run; None when it was about this version alone."""
    if not any(_key(entry) in stale for entry in places(deviation)):
        return deviation
    if all(_key(entry) in stale for entry in places(deviation)) and not any(one.versions for one in deviation.seen):
        after = _narrowed(deviation.versions, version)
        return None if after is None else msgspec.structs.replace(deviation, versions=after)
    seen = tuple(part for one in deviation.seen for part in _parts(one, deviation, stale, version))
    return msgspec.structs.replace(deviation, seen=seen) if seen else None


def _parts(seen: Seen, deviation: Deviation, stale: Collection[Key], version: str) -> Iterator[Seen]:
    """Yield a place as it was, without the Cases that went stale; and, if other versions have those, a place of
    theirs."""
    versions = seen.versions or deviation.versions
    gone = tuple(case for case in seen.cases if (seen.requirement, case, seen.code, versions) in stale)
    if left := tuple(case for case in seen.cases if case not in gone):
        yield msgspec.structs.replace(seen, cases=left)
    if gone and (after := _narrowed(versions, version)) is not None:
        yield msgspec.structs.replace(seen, cases=gone, versions=after)


# --- text -------------------------------------------------------------------------------------------------------------


def _of_this_schema(text: str, listed: Expectations) -> str:
    match = _SCHEMA.search(text)
    if match is None or int(match[1]) == SCHEMA_MAJOR:
        return text
    comment = _COMMENT.match(text)
    return render(listed, comment[0] if comment else "")


def _edited(text: str, where: str, listed: Expectations, kept: Mapping[str, Deviation | None]) -> str:
    """Return the text with each deviation that changed rewritten, below the comments that it had."""
    head, blocks = _split(text)
    if len(blocks) != len(listed.deviations):
        raise UsageError(f"{where}: cannot be edited safely; expected each cause under a [[deviation]] of its own")
    for index, before in enumerate(listed.deviations):
        after = kept[before.id]
        if after != before:
            blocks[index] = "" if after is None else _rewritten(blocks[index], after)
    return "".join([head, *blocks]).rstrip("\n") + "\n"


def _rewritten(block: str, after: Deviation) -> str:
    return f"{''.join(_COMMENT_LINES.findall(block))}{deviation_text(after)}\n"


def _split(text: str) -> tuple[str, list[str]]:
    """Return what stands before the first deviation, and the text of each."""
    starts = [match.start() for match in _HEAD.finditer(text)]
    ends = [*starts[1:], len(text)] if starts else []
    return text[: starts[0]] if starts else text, [text[a:b] for a, b in zip(starts, ends, strict=True)]


def _waiting(text: str) -> str:
    """Return the text with the reasons left empty, for a person to write."""
    return text.replace(f'reason = "{_FILLER}"', 'reason = ""')


def _verify(text: str, where: str, wanted: Sequence[Deviation]) -> None:
    """Check that the edited text says exactly what was meant: a file of unusual form must not be spoilt."""
    try:
        found = parse_expectations(text, where).deviations
    except UsageError as error:
        raise UsageError(f"{where}: cannot be edited safely: {error}") from error
    if found != tuple(wanted):
        raise UsageError(f"{where}: cannot be edited safely; expected one [[deviation]] a cause, keys on lines")


# --- what is not listed -----------------------------------------------------------------------------------------------


Unlisted = tuple[RequirementId, str, str, str, str]
"""Requirement, finding code, Case, what shows, replay file."""


def _unlisted(
    run: Verdicts, listed: Sequence[Expectation], version: str, replays: Mapping[str, str]
) -> Iterator[Unlisted]:
    known = {(entry.requirement, entry.case, entry.code) for entry in listed if entry.applies_to(version)}
    for cell in run.cells:
        if cell.expected is not Expected.UNEXPECTED:
            continue
        first: dict[str, Finding] = {}
        for finding in cell.findings:
            first.setdefault(finding.code, finding)
        for code in first or sorted(codes_of(cell.verdict, ())):
            if (cell.requirement, cell.case, code) not in known:
                excerpt, replay = ("", "")
                if code in first:
                    excerpt, replay = first[code].sentence, replays.get(cell.case, "")
                yield (cell.requirement, code, cell.case, excerpt, replay)


def _new(
    found: Sequence[Unlisted], version: str, reason: str, impact: Impact | None, taken: set[str]
) -> Iterator[Deviation]:
    """One deviation for what shows in the same Cases: whether that is one cause, a person says."""
    grouped: dict[tuple[RequirementId, str], list[Unlisted]] = {}
    for one in found:
        grouped.setdefault((one[0], one[1]), []).append(one)
    cases = {kind: frozenset(one[2] for one in group) for kind, group in grouped.items()}
    for kinds in together(cases):
        requirement, code = kinds[0]
        yield Deviation(
            id=new_id(f"{requirement}-{code}", taken),
            title=f"{requirement}: {code}",
            versions=f"=={version}",
            reason=reason,
            impact=impact,
            excerpt=grouped[kinds[0]][0][3],
            seen=tuple(place for kind in kinds for place in _seen(*kind, grouped[kind])),
        )


def _seen(requirement: RequirementId, code: str, group: Sequence[Unlisted]) -> Iterator[Seen]:
    """Cases whose replay files have the usual names are one place, others one each."""
    usual = f"replays/{ANY_CASE}.json"
    by_replay: dict[str, list[str]] = {}
    for _, _, case, _, replay in group:
        expected = Seen(requirement=requirement, code=code, cases=(), replay=usual).replay_of(case)
        by_replay.setdefault(usual if replay == expected else replay, []).append(case)
    for replay, cases in by_replay.items():
        yield Seen(requirement=requirement, code=code, cases=tuple(cases), replay=replay)
