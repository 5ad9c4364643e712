"""What stored runs of durability Cases came to, and the table of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from bench.durability.forgotten import forgotten, is_forgotten
from bench.durability.given_up import gives_up, is_given_up
from bench.durability.kills import KillSeen, kills_seen

from assay_conformance.checks.base import Check
from assay_conformance.model.case import Case
from assay_conformance.model.event import Ended, Ending, Event, ReadBack
from assay_conformance.model.verdict import Judgement, Verdict
from assay_conformance.pulsar.cases.ordering.durability import KINDS
from assay_fixtures.packs import Pack
from assay_fixtures.runner.folder import StoredRun
from assay_fixtures.runner.judging import judge

MEANT = ("ordering.", "topics.moves", "dedup.", "ack.survives", "subscription.resumes", "delayed.", "chunking.survives")
"""What the Cases are about. The client's own punctuality is judged elsewhere, on a machine with less to do."""

KIND, WRITE_QUORUM = "kind", "write_quorum"
"""Options of a run, by which its Cases belong to a row of the table."""

UNDECIDED = (Verdict.INCONCLUSIVE, Verdict.UNTESTABLE)


@dataclass(frozen=True, slots=True)
class Row:
    """What runs are put together by."""

    client: str
    kind: str
    write_quorum: int


@dataclass(frozen=True, slots=True)
class Excused:
    """A failure that is known, and shown to be that: by the broker's own log, or on the wire."""

    judgement: Judgement
    why: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One Case that came to its end. `ledgers`: what its topic consists of in the end."""

    case: str
    ledgers: int
    kills: Sequence[KillSeen]
    judgements: Sequence[Judgement]
    excused: Sequence[Excused] = ()

    @property
    def load(self) -> str:
        """What was under way, as the Case's id says it."""
        return self.case.rsplit("-", 2)[1]


@dataclass(frozen=True, slots=True)
class CutShort:
    """One Case that the bench's own trouble ended: it shows nothing, and is run again."""

    case: str
    why: str


@dataclass(slots=True)
class Tally:
    """All Cases of one row."""

    results: list[CaseResult] = field(default_factory=list)
    cut_short: list[CutShort] = field(default_factory=list)

    def add(self, results: Iterable[CaseResult | CutShort]) -> None:
        """Add results, each Case once."""
        for result in results:
            if isinstance(result, CutShort):
                self.cut_short.append(result)
            elif result.case not in self.done:
                self.results.append(result)

    @property
    def done(self) -> set[str]:
        """Cases that came to their end."""
        return {result.case for result in self.results}

    @property
    def kills(self) -> list[KillSeen]:
        return [kill for result in self.results for kill in result.kills]

    @property
    def counted(self) -> list[KillSeen]:
        return [kill for kill in self.kills if not kill.why_not]

    @property
    def excused(self) -> list[Excused]:
        return [excused for result in self.results for excused in result.excused]

    @property
    def passed(self) -> list[Judgement]:
        return self._with(lambda verdict: verdict is Verdict.PASS)

    @property
    def undecided(self) -> list[Judgement]:
        return self._with(lambda verdict: verdict in UNDECIDED)

    @property
    def failed(self) -> list[Judgement]:
        """Whatever is neither decided well nor undecided: failures, and Cases that could not be carried out."""
        return self._with(lambda verdict: verdict is not Verdict.PASS and verdict not in UNDECIDED)

    def _with(self, wanted: Callable[[Verdict], bool]) -> list[Judgement]:
        return [judgement for result in self.results for judgement in result.judgements if wanted(judgement.verdict)]


def row_of(run: StoredRun) -> Row:
    return Row(run.info.facts.agent, str(run.info.options[KIND]), int(run.info.options[WRITE_QUORUM]))


def checks_meant(pack: Pack) -> Mapping[str, type[Check]]:
    return {name: check for name, check in pack.checks.items() if name.startswith(MEANT)}


def results(run: StoredRun, pack: Pack) -> Iterator[CaseResult | CutShort]:
    """Yield the results of the Cases that came to an end; a run may have been killed."""
    excuses = _Excuses(run)
    for number, case in enumerate(run.plan.values()):
        told = [_result(run, pack, case, number, attempt, excuses) for attempt in run.attempts(case.id)]
        yield from (one for one in told if isinstance(one, CutShort))
        if ended := [one for one in told if isinstance(one, CaseResult)]:
            yield in_all(ended)


def in_all(attempts: Sequence[CaseResult]) -> CaseResult:
    """Return the result of all attempts at one Case.

    The last attempt counts, since a quieter machine may have decided it, and what failed in the earlier ones: what was
    lost once is lost.
    """
    *earlier, last = attempts
    failed = [judgement for one in earlier for judgement in one.judgements if judgement.verdict is Verdict.FAIL]
    return replace(last, judgements=[*failed, *last.judgements])


class _Excuses:
    """What is known of the broker and of the client of one run."""

    def __init__(self, run: StoredRun) -> None:
        logs = sorted(run.path.glob("broker-*.log"))
        self._lost = forgotten(line for log in logs for line in log.read_text(errors="replace").splitlines())
        self._gives_up = gives_up(run.info.facts.agent, run.info.announced)

    def why(self, judgement: Judgement, topic: str, events: Sequence[Event]) -> str:
        """Return what excuses a judgement, or "" where nothing does."""
        if is_forgotten(judgement, topic, self._lost, events):
            return "its cursor was closed too early"
        if self._gives_up and is_given_up(judgement, events):
            return "the client gave up a message whose chunk came again"
        return ""


def _result(
    run: StoredRun, pack: Pack, case: Case, number: int, attempt: int, excuses: _Excuses
) -> CaseResult | CutShort | None:
    events = list(run.history(case.id, attempt))
    end = events[-1] if events else None
    if not isinstance(end, Ended) or end.how is Ending.INTERRUPTED:
        return None
    if end.how in (Ending.HARNESS, Ending.PEER):
        return CutShort(case.id, end.text)
    judged = judge(events, case, run.info.facts, pack.catalogue, checks_meant(pack), attempt)
    why = [excuses.why(judgement, f"assay/c{number}-{attempt}/t", events) for judgement in judged]
    read = [event.entries for event in events if isinstance(event, ReadBack)]
    return CaseResult(
        case.id,
        ledgers=len({entry.ledger for entries in read for entry in entries}),
        kills=tuple(kills_seen(events, KINDS[row_of(run).kind])),
        judgements=[judgement for judgement, excuse in zip(judged, why, strict=True) if not excuse],
        excused=[Excused(judgement, excuse) for judgement, excuse in zip(judged, why, strict=True) if excuse],
    )


def table(tallies: Mapping[Row, Tally]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    judged = "pass | undecided | excused | fail"
    yield f"| client | write quorum | killed | kills | counted | in flight, median | ledgers of a topic | {judged} |"
    yield "|---" * 11 + "|"
    for row, tally in tallies.items():
        in_flight = median(kill.in_flight for kill in tally.counted) if tally.counted else "-"
        ledgers = median(result.ledgers for result in tally.results) if tally.results else "-"
        cells = (row.client, row.write_quorum, row.kind, len(tally.kills), len(tally.counted), in_flight, ledgers)
        counts = (len(tally.passed), len(tally.undecided), len(tally.excused), len(tally.failed))
        yield f"| {' | '.join(map(str, (*cells, *counts)))} |"


def remarks(tallies: Mapping[Row, Tally]) -> Iterator[str]:
    """Yield each failure, trouble and excuse, and the reasons for what does not count.

    Included are what was under way at the kills that count, and why judgements are undecided.
    """
    for row, tally in tallies.items():
        where = f"{row.client}, write quorum {row.write_quorum}, {row.kind}"
        for judgement in tally.failed:
            yield f"{where}: {judgement.case}, {judgement.requirement}: {judgement.verdict}: {judgement.reason}"
        yield from (f"{where}: {cut.case}: cut short by the bench: {cut.why}" for cut in tally.cut_short)
        for excused in tally.excused:
            yield f"{where}: {excused.judgement.case}, {excused.judgement.requirement}: excused, {excused.why}"
        loads = Counter(result.load for result in tally.results for kill in result.kills if not kill.why_not)
        yield f"{where}: what was under way: {', '.join(f'{load} {count}' for load, count in sorted(loads.items()))}"
        reasons = Counter(f"{judgement.requirement} undecided: {judgement.reason}" for judgement in tally.undecided)
        reasons += Counter(f"a kill that does not count: {kill.why_not}" for kill in tally.kills if kill.why_not)
        yield from (f"{where}: {count} x {reason}" for reason, count in reasons.most_common())
