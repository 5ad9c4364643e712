"""Bringing an expectations file to what a run showed: its text is edited, so that order, comments and reasons stay.

An entry that went stale is taken out where it was about this version alone; else its range learns that this version is
better, since the run says nothing about the others. A failure that nobody listed becomes an entry without a reason,
unless one is given: no reader takes the file until a person has written one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from assay_conformance.model.doors import MalformedError, convert, parse_toml
from assay_conformance.model.errors import UsageError
from assay_conformance.model.verdict import Expected, Finding
from assay_reports.expectations import ANY_VERSION, Expectation, parse_expectations
from assay_reports.standing import UNTESTABLE_CODE, EntryState
from assay_reports.verdicts import Verdicts

# With the comment right above it, which is about it.
_HEAD = re.compile(r"(?:^#.*\n)*^\[\[expect\]\]", re.MULTILINE)
_VERSIONS = re.compile(r"^(versions[ \t]*=[ \t]*).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Updated:
    """The new text and what was done, one line each. `unreasoned` entries, of those `added`, wait for a person's
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
    not_the_clients: Collection[str] = (),
    replays: Mapping[str, str] = MappingProxyType({}),
) -> Updated:
    """The file's `text` after the run. UsageError for a file that is none, or of another agent.

    Failures of `not_the_clients`, requirements that a broker has to keep, are not added to what is known of a client.
    `replays`: by Case, the replay file beside the list that a new entry names.
    """
    listed = parse_expectations(text, where)
    if listed.agent != run.subject.agent:
        raise UsageError(f"{where}: 'agent' is {listed.agent!r}, expected {run.subject.agent!r}, the agent of the run")
    version = run.subject.version
    own = [entry for entry in run.expectations if not entry.broker]
    stale = {_key(entry.expectation) for entry in own if entry.state is EntryState.STALE}
    head, blocks = _split(text)
    if len(blocks) != len(listed.entries):
        raise UsageError(f"{where}: cannot be edited safely; expected each entry under a [[expect]] of its own")
    expected: list[Expectation] = []
    done: list[str] = []
    for index, entry in enumerate(listed.entries):
        after = _without(entry, version) if _key(entry) in stale else entry
        if after is None:
            blocks[index] = ""
            done.append(f"pruned    {_named(entry)}")
            continue
        if after != entry:
            blocks[index] = _VERSIONS.sub(lambda m, v=after.versions: f"{m[1]}{_quoted(v)}", blocks[index], count=1)  # type: ignore[misc]
            done.append(f"narrowed  {_named(entry)}: {after.versions}")
        expected.append(after)
    unlisted = _unlisted(run, listed.entries, version, reason, replays)
    added = tuple(entry for entry in unlisted if entry.requirement not in not_the_clients)
    done += [f"added     {_named(entry)}" for entry in added]
    body = "".join([head, *blocks]).rstrip("\n") + "\n"
    after_text = body + "".join(f"\n{_written(entry)}" for entry in added)
    _verify(after_text, where, [*expected, *added])
    return Updated(after_text if done else text, tuple(done), 0 if reason else len(added), added)


def _key(entry: Expectation) -> tuple[str, str, str, str]:
    return (entry.requirement, entry.case, entry.code, entry.versions)


def _named(entry: Expectation) -> str:
    return f"{entry.requirement} in {entry.case}: {entry.code}"


def _without(entry: Expectation, version: str) -> Expectation | None:
    """The entry without this version; None when it was about no other."""
    if entry.versions == f"=={version}":
        return None
    other = f"!={version}"
    return msgspec.structs.replace(
        entry, versions=other if entry.versions == ANY_VERSION else f"{entry.versions},{other}"
    )


def _split(text: str) -> tuple[str, list[str]]:
    """What stands before the first entry, and the text of each."""
    starts = [match.start() for match in _HEAD.finditer(text)]
    ends = [*starts[1:], len(text)] if starts else []
    return text[: starts[0]] if starts else text, [text[a:b] for a, b in zip(starts, ends, strict=True)]


def _unlisted(
    run: Verdicts, listed: Sequence[Expectation], version: str, reason: str, replays: Mapping[str, str]
) -> Iterator[Expectation]:
    known = {(entry.requirement, entry.case, entry.code) for entry in listed if entry.applies_to(version)}
    for cell in run.cells:
        if cell.expected is not Expected.UNEXPECTED:
            continue
        first: dict[str, Finding] = {}
        for finding in cell.findings:
            first.setdefault(finding.code, finding)
        for code in first or (UNTESTABLE_CODE,):
            if (cell.requirement, cell.case, code) not in known:
                yield Expectation(
                    requirement=cell.requirement,
                    case=cell.case,
                    code=code,
                    versions=f"=={version}",
                    reason=reason,
                    excerpt=first[code].sentence if code in first else "",
                    replay=replays.get(cell.case, "") if code in first else "",
                )


def _written(entry: Expectation) -> str:
    lines = ["[[expect]]"]
    for key in ("requirement", "case", "code", "versions", "reason", "excerpt", "replay"):
        value = getattr(entry, key)
        if value or key == "reason":
            lines.append(f"{key} = {_quoted(value)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # JSON's strings are TOML's basic strings, but for DEL.
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")


def _verify(text: str, where: str, expected: Sequence[Expectation]) -> None:
    """The edited text says exactly what was meant; a file of unusual form must not be spoilt."""
    try:
        tables = parse_toml(text.encode()).get("expect", [])
        found = [convert(table, Expectation) for table in tables]
    except MalformedError as error:
        raise UsageError(f"{where}: cannot be edited safely: {error}") from error
    if found != list(expected):
        raise UsageError(f"{where}: cannot be edited safely; expected one [[expect]] table an entry, keys on lines")
