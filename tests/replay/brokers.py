"""Which requirements hold on which brokers alike: summaries of stored runs, and the table they make.

A summary is what the table needs of a run's folder; it stays in fixtures/golden/parity, so that the table can be made
again, and looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from assay_conformance.model.case import Case
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Verdict
from assay_fixtures.agents import manifest
from assay_fixtures.packs import Pack, load_packs
from assay_fixtures.runner.folder import StoredRun
from assay_reports.verdicts import read_verdicts

FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "golden" / "parity"
EMBEDDED: Final = "embedded"

_FORGETS = (
    "Pulsar 4.0.8 forgets acknowledgments when a topic is unloaded while the ledger of its cursor is still being made "
    "(ManagedCursorImpl: CursorAlreadyClosedException); the embedded broker has no ledgers to make"
)

EXPLAINED: Final[Mapping[tuple[str, str], str]] = {
    (
        "pulsar-python",
        "chunking.releases-queue-and-memory",
    ): "the Case that fails, chunking/full-queue-fails-chunks, holds the store and was not run there",
    (
        "pulsar-python",
        "connection.max-message-size-per-connection",
    ): "the Case that fails, connection/max-message-size-differs, needs two brokers and was not run there",
    (
        "pulsar-python",
        "flow.full-queue-blocks-or-fails",
    ): "the Case that fails, flow/room-after-failed-batches, holds the store and was not run there",
    ("pulsar-python", "producer.close-ends-pending-sends"): "the Case that fails, producer/close-with-sends-in-flight, "
    "holds the store and was not run there",
    ("pulsar-python", "resend.send-timeout"): "the client's own: sends behind one that is not allowed are sent again "
    "before their receipts come, and each reconnect starts their time-out anew; receipts of a real broker come when "
    "BookKeeper has written (PersistentTopic.addComplete), those of the embedded one at once",
    ("pulsar-python", "seek.discards-prefetched"): "the client's own: acknowledgments that are being grouped leave "
    "behind SEEK when its answer takes longer than the group's interval, as where Pulsar moves the cursor "
    "(PersistentSubscription.resetCursor); the embedded broker answers at once",
    ("pulsar-python", "subscription.retains-until-acked"): _FORGETS,
    ("pulsar-python", "subscription.resumes-at-first-unacked"): _FORGETS,
    ("reference", "subscription.retains-until-acked"): _FORGETS,
    ("reference", "subscription.resumes-at-first-unacked"): _FORGETS,
}
"""(client, requirement) -> why a real broker brings about another verdict."""


DECIDED: Final = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.INFO})

WORDS: Final = ("same", "differs", "undecided", "not runnable")


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a requirement came to: how often its precondition occurred, in which Cases; `codes` are its findings'."""

    side: str
    verdict: Verdict
    exercised: int = 0
    cases: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `missing` are the levers that lack for Cases of a requirement that were left out."""

    broker: str
    broker_version: str
    client: str
    client_version: str
    rows: dict[str, Row]
    missing: dict[str, tuple[str, ...]]

    @property
    def on(self) -> str:
        return f"{self.broker} {self.broker_version}"

    @property
    def file(self) -> str:
        """One for each version of a real broker; the embedded one is that of this checkout."""
        broker = self.broker if self.broker == EMBEDDED else f"{self.broker}-{self.broker_version}"
        return f"{broker}-{self.client}.json"


def summary(run: Path, pack: Pack) -> Summary:
    """Of a folder that `assay certify` made."""
    stored = StoredRun(run)
    file = run / "verdicts.json"
    told = read_verdicts(file.read_bytes(), str(file))
    codes: dict[str, set[str]] = {}
    for cell in told.cells:
        codes.setdefault(cell.requirement, set()).update(finding.code for finding in cell.findings)
    sides = {stated.id: stated.side.value for stated in pack.catalogue.requirements.values()}
    rows = {
        str(row.requirement): Row(
            sides[row.requirement],
            row.verdict,
            row.exercised,
            row.cases,
            tuple(sorted(codes.get(row.requirement, ()))),
        )
        for row in told.requirements
    }
    cases = {case.id: case for case in pack.cases}
    return Summary(
        broker=stored.info.broker.kind,
        broker_version=stored.info.broker.version,
        client=stored.info.facts.agent,
        client_version=stored.info.announced,
        rows=rows,
        missing=_missing((cases[out.case], out.reason) for out in told.left_out if out.case in cases),
    )


def _missing(left_out: Iterable[tuple[Case, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for case, reason in left_out:
        for requirement in case.requirements:
            if reason not in found.setdefault(requirement, []):
                found[requirement].append(reason)
    return {requirement: tuple(reasons) for requirement, reasons in sorted(found.items())}


def keep(run: Path) -> Path:
    """Put the summary of a run where the table finds it."""
    made = summary(run, load_packs())
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / made.file
    path.write_bytes(msgspec.json.format(msgspec.json.encode(made, order="sorted"), indent=1) + b"\n")
    return path


def kept() -> list[Summary]:
    return [msgspec.json.decode(path.read_bytes(), type=Summary) for path in sorted(FOLDER.glob("*.json"))]


# --- the table --------------------------------------------------------------------------------------------------------


class Cell(msgspec.Struct, frozen=True):
    """One requirement on one real broker against the embedded one, driven by one client."""

    word: str
    why: str = ""


def compared(embedded: Summary, real: Summary, requirement: str, undeclared: str = "") -> Cell:
    """`same` needs occurrences on both sides. `undeclared`: what the client would have to be capable of."""
    here, there = embedded.rows.get(requirement), real.rows.get(requirement)
    levers = "; ".join(real.missing.get(requirement, ()))
    if here is None or not here.exercised:
        lacks = f"its agent declares no {undeclared}" if undeclared else "does not get there"
        return Cell("not runnable", levers or f"{embedded.client}: {lacks}")
    if there is None or not there.exercised:
        unseen = "no part of that run" if there is None else "its precondition did not occur in that run"
        return Cell("not runnable", levers) if levers else Cell("undecided", unseen)
    if not DECIDED.issuperset((here.verdict, there.verdict)):
        return Cell("undecided", f"{here.verdict.value} and {there.verdict.value} in these runs")
    if here.verdict is there.verdict:
        return Cell("same", f"seen {here.exercised} and {there.exercised}")
    reason = EXPLAINED.get((real.client, requirement), "")
    return Cell("differs", f"{here.verdict.value} and {there.verdict.value}: {reason or 'not explained yet'}")


def section(summaries: Sequence[Summary]) -> Iterator[str]:
    """Markdown: counts, then a line for each requirement."""
    pairs = list(_pairs(summaries))
    if not pairs:
        return
    yield "## Requirements on real brokers\n"
    yield (
        "The same Cases with the same client, on the embedded broker and on a real one behind the frame proxy. *same*: "
        "the same verdict, and the precondition occurred on both. *undecided*: one of the runs could not tell, as on a "
        "machine that is too busy. *not runnable*: with what is missing for it. The "
        "evidence is in [fixtures/golden/parity](../fixtures/golden/parity).\n"
    )
    sides = {name: row.side for embedded, _ in pairs for name, row in embedded.rows.items()}
    table = {
        (real.file, requirement): compared(embedded, real, requirement, _undeclared(real, requirement))
        for embedded, real in pairs
        for requirement in sides
    }
    yield f"| client | broker | {' | '.join(WORDS)} |"
    yield "|---|---|" + "---|" * len(WORDS)
    for _, real in pairs:
        words = [table[real.file, requirement].word for requirement in sides]
        counts = " | ".join(str(words.count(word)) for word in WORDS)
        yield f"| {real.client} {real.client_version} | [{real.on}](../fixtures/golden/parity/{real.file}) | {counts} |"
    yield ""
    yield "| requirement | side | " + " | ".join(f"{real.client}, {real.on}" for _, real in pairs) + " |"
    yield "|---|---|" + "---|" * len(pairs)
    for requirement, side in sorted(sides.items()):
        cells = [table[real.file, requirement] for _, real in pairs]
        shown = " | ".join(f"{cell.word}: {cell.why}" if cell.why else cell.word for cell in cells)
        yield f"| `{requirement}` | {side} | {shown} |"
    yield ""


def _undeclared(run: Summary, requirement: str) -> str:
    declared = _declared(run.client, run.client_version)
    stated = load_packs().catalogue.requirements.get(RequirementId(requirement))
    return ", ".join(sorted(set(stated.capabilities) - declared)) if stated is not None else ""


@cache
def _declared(client: str, version: str) -> frozenset[str]:
    return frozenset(manifest.find(client).facts(version).capabilities)


def _pairs(summaries: Sequence[Summary]) -> Iterator[tuple[Summary, Summary]]:
    here = {one.client: one for one in summaries if one.broker == EMBEDDED}
    for one in summaries:
        if one.broker != EMBEDDED and one.client in here:
            yield here[one.client], one
