"""A small judged run by hand: three requirements in two chapters, and a history with a held receipt and a cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import pytest
from tests.listing import listing

from assay_conformance.catalogue import Catalogue, parse
from assay_conformance.model.case import Case
from assay_conformance.model.event import (
    Began,
    Closed,
    ClosedBy,
    Completion,
    Ended,
    Ending,
    ErrorClass,
    Event,
    Fate,
    Fired,
    Frame,
    Healed,
    Identity,
    Invoke,
    Load,
    Member,
    MessageId,
    Meta,
    Note,
    Opened,
    Outcome,
    Received,
    Sides,
    Stored,
)
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.fault import AfterStep, Cut, Direction, Fault, Hold, OnFrame, Until
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.run import BrokerInfo, LeftOut, LoadSource, Machine, RunInfo
from assay_conformance.model.schema import FileKind
from assay_conformance.model.verdict import (
    WORST_FIRST,
    Finding,
    Grade,
    Judgement,
    RequirementVerdict,
    Verdict,
    sum_not_judged,
)
from assay_reports.deviations import Occurs
from assay_reports.expectation_matching import Matching, match_expectations
from assay_reports.expectations import Expectation, Known
from assay_reports.outcome import outcome
from assay_reports.report import Report
from assay_reports.verdicts import verdicts

KEEPS_ORDER = RequirementId("resend.keeps-order")
AGAIN = RequirementId("resend.pending-sends-resent")
FLUSHES = RequirementId("ack.flush-on-close")
BROKER_KEEPS = RequirementId("ack.broker-keeps")

CUT_CASE = "resend/cut-after-second-receipt"
CLOSE_CASE = "ack/close-flushes"
CASES = (CUT_CASE, CLOSE_CASE)

_ENTRY = """
["{id}"]
row = "{row}"
title = "{title}"
level = "{level}"
side = "{side}"
status = "documented"
disposition = "tested"
clause = "{clause}"
why = "Otherwise an application sees what it never asked for."
sources = [{{ name = "Java client, ProducerImpl", link = "https://example.org/producer" }}]
"""

MS = 1_000_000

HOSTILE = "\x1b]0;owned\x07[bold red]<script>alert(1)</script>]]>&\u202e{{ 7*7 }}\x00"


def _entry(id: str, title: str, clause: str, row: str, level: str = "MUST", side: str = "client") -> str:
    return _ENTRY.format(id=id, title=title, clause=clause, row=row, level=level, side=side)


class Sample:
    """Builders with defaults, so that a test states only what it is about."""

    catalogue: Catalogue = parse(
        {
            "chapters.toml": '[resend]\ntitle = "Resend, reconnect, time-out"\n[ack]\ntitle = "Acknowledgment"\n',
            "resend.toml": _entry(
                KEEPS_ORDER,
                "Resending keeps the order",
                "Sends that go out again after a reconnect keep the order of their sequence ids.",
                "RSD-002",
            )
            + _entry(
                AGAIN,
                "Resends every send that has no receipt after a reconnect",
                "Every send without a receipt when its connection dies is sent again after the next PRODUCER_SUCCESS.",
                "RSD-001",
            ),
            "ack.toml": _entry(
                FLUSHES,
                "Closing a consumer flushes its acks",
                "Grouped acknowledgments are written before the consumer closes.",
                "ACK-006",
                level="SHOULD",
            )
            + _entry(
                BROKER_KEEPS,
                "The broker keeps acks",
                "An acknowledged message is not dispatched again.",
                "ACK-001",
                side="broker",
            ),
        }
    )

    def case(self, id: str = CUT_CASE, requirement: RequirementId = KEEPS_ORDER) -> Case:
        return Case(
            id=id,
            title="Three sends, cut after the second receipt",
            requirements=(requirement,),
            steps=(),
            faults=(
                Fault(
                    trigger=OnFrame(command="SEND_RECEIPT", direction=Direction.TO_CLIENT),
                    action=Hold(),
                    until=Until(after_ms=9),
                ),
                Fault(trigger=AfterStep(5), action=Cut()),
            ),
        )

    def finding(self, code: str = "out-of-order", case: str = CUT_CASE, **fields: Any) -> Finding:
        return Finding(
            **{
                "requirement": KEEPS_ORDER,
                "code": code,
                "case": case,
                "sentence": "producer 1 sent sequence id 2 before 1 on connection 1: expected 1 at 31.0 ms, came 2",
                "events": (7, 18, 19),
                "grade": Grade.A,
                **fields,
            }
        )

    def judged(self, verdict: Verdict = Verdict.PASS, *codes: str, **fields: Any) -> Judgement:
        requirement, case = fields.get("requirement", KEEPS_ORDER), fields.get("case", CUT_CASE)
        return Judgement(
            **{
                "requirement": requirement,
                "case": case,
                "verdict": verdict,
                "exercised": 0 if verdict in (Verdict.UNTESTABLE, Verdict.UNSUPPORTED) else 3,
                "findings": tuple(self.finding(code, case, requirement=requirement) for code in codes),
                **fields,
            }
        )

    def entry(self, code: str = "out-of-order", versions: str = "*", **fields: Any) -> Expectation:
        return Expectation(
            **{
                "requirement": KEEPS_ORDER,
                "case": CUT_CASE,
                "code": code,
                "versions": versions,
                "reason": "resends by hash order",
                **fields,
            }
        )

    def sometimes(self, code: str = "out-of-order") -> Expectation:
        return self.entry(code, occurs=Occurs.SOMETIMES)

    def rows(self, judgements: Iterable[Judgement]) -> tuple[RequirementVerdict, ...]:
        """A fold by hand: the rows under test need one, and which is not their business."""
        groups: dict[RequirementId, list[Judgement]] = {}
        for judgement in judgements:
            groups.setdefault(judgement.requirement, []).append(judgement)
        return tuple(
            RequirementVerdict(
                requirement=requirement,
                verdict=min((j.verdict for j in group), key=WORST_FIRST.index),
                exercised=sum(j.exercised for j in group),
                cases=tuple(dict.fromkeys(j.case for j in group)),
                findings=tuple(finding for j in group for finding in j.findings),
                not_judged=sum_not_judged(group),
            )
            for requirement, group in groups.items()
        )

    def standing(
        self,
        *judgements: Judgement,
        entries: Sequence[Expectation] = (),
        version: str = "3.13.0",
        today: date = date(2026, 6, 1),
        selected: Iterable[str] = CASES,
        brokers: Sequence[Known] = (),
    ) -> Matching:
        listed = listing(entries, agent="pulsar-python")
        known = [Known(listed, version), *brokers]
        of_brokers = self.catalogue.of_brokers
        return match_expectations(self.rows(judgements), judgements, known, today, frozenset(selected), of_brokers)

    def run(self, **fields: Any) -> RunInfo:
        return RunInfo(
            **{
                "schema": "1.0",
                "file": FileKind.RUN,
                "run": "2026-06-01-101500",
                "suite": "0.1.0",
                "catalogue": self.catalogue.revision,
                "hypothesis": "6.100.0",
                "facts": ClientFacts(
                    agent="pulsar-python",
                    client="pulsar-client",
                    client_version="3.13.0",
                    capabilities=frozenset({"producer", "consumer", "batching"}),
                    fixed={"ack_group_ms": 100, "keep_alive_ms": 30_000},
                ),
                "announced": "3.13.0",
                "broker": BrokerInfo(kind="embedded", name="assay", version="0.1.0"),
                "machine": Machine(python="3.11.2", cpus=2, platform="Linux-x86_64"),
                "load_source": LoadSource.SCHEDSTAT,
                "seed": 7,
                "started_unix_ms": 1_780_308_900_000,
                "ended_unix_ms": 1_780_308_923_400,
                "left_out": (LeftOut("connection/idle-keeps-alive", "tier full"),),
                "options": {"tier": "fast"},
                **fields,
            }
        )

    def report(
        self,
        *judgements: Judgement,
        entries: Sequence[Expectation] = (),
        events: Sequence[Event] | None = None,
        run: RunInfo | None = None,
        strict: bool = False,
    ) -> Report:
        standing = self.standing(*judgements, entries=entries)
        known = [Known(listing(entries, agent="pulsar-python"), "3.13.0")]
        run = run or self.run()
        told = outcome(standing, selected=len(CASES), strict=strict)
        history = self.history() if events is None else events
        return Report(
            run=run,
            catalogue=self.catalogue,
            verdicts=verdicts(run, standing, told, catalogue=self.catalogue.revision, tested=True, known=known),
            cases={id: self.case(id) for id in CASES},
            folder="runs/2026-06-01-101500",
            events=lambda _case, _attempt: history,
            replays={CUT_CASE: f"replay/{CUT_CASE}.json"},
        )

    def hostile(self) -> Report:
        """A failing run whose every free text wants to be more than text."""
        finding = self.finding(sentence=HOSTILE, events=(0,))
        return self.report(
            self.judged(Verdict.FAIL, findings=(finding,), reason=HOSTILE),
            self.judged(Verdict.FAIL, "lost", requirement=AGAIN),
            entries=[self.entry("lost", requirement=AGAIN, reason=HOSTILE)],
            events=[Note(seq=0, t_ns=0, text=HOSTILE)],
            run=self.run(announced=HOSTILE, left_out=(), options={"tier": HOSTILE}),
        )

    def history(self) -> list[Event]:
        """Three sends, a held receipt, a cut, and resends in the wrong order: findings name events 7, 18 and 19."""
        return _history()


class _Script:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, kind: Any, at_ms: float, **fields: Any) -> None:
        self.events.append(kind(seq=len(self.events), t_ns=int(at_ms * MS), **fields))

    def send(self, at_ms: float, conn: int, sequence_id: int, frame: int) -> None:
        self.add(
            Frame,
            at_ms,
            conn=conn,
            dir=Direction.TO_BROKER,
            frame=frame,
            command="SEND",
            size=1100,
            producer_id=1,
            sequence_id=sequence_id,
        )

    def invoke(self, at_ms: float, number: int) -> None:
        self.add(Invoke, at_ms, op=3 + number, verb="send", handle=1, number=number, size=1024)

    def stored(self, at_ms: float, entry: int, sequence_id: int) -> None:
        self.add(
            Stored,
            at_ms,
            topic="t",
            id=MessageId(1, entry),
            size=1024,
            unit=entry,
            described=Meta(producer_name="p-1", sequence_id=sequence_id),
            members=(Member(size=1024, digest=1, identity=Identity(1, 1, sequence_id)),),
        )

    def receipt(self, at_ms: float, frame: int, sequence_id: int, sides: Sides, fate: Fate) -> None:
        self.add(
            Frame,
            at_ms,
            conn=0,
            dir=Direction.TO_CLIENT,
            frame=frame,
            command="SEND_RECEIPT",
            size=60,
            producer_id=1,
            sequence_id=sequence_id,
            ids=(MessageId(1, sequence_id),),
            sides=sides,
            fate=fate,
        )


def _history() -> list[Event]:
    script = _Script()
    script.add(Began, 0, case=CUT_CASE, attempt=1, number=1, unix_ms=0)
    script.add(Opened, 2.1, conn=0)
    script.add(Load, 4, window_ns=4 * MS, loop_lag_ns=0, agent_wait_ns=0)
    for number in range(3):
        script.invoke(10 + number, number)
    script.send(12.4, 0, 0, 20)
    script.send(12.6, 0, 1, 21)
    script.send(12.7, 0, 2, 22)
    script.stored(12.9, 0, 0)
    script.add(Fired, 13.1, fault=0, action="hold", frames=(23,))
    script.receipt(13.1, 23, 0, Sides.SENDER, Fate.HELD)
    script.receipt(22.1, 23, 0, Sides.RECEIVER, Fate.RELEASED)
    script.add(Healed, 22.1, fault=0)
    script.add(
        Completion, 22.6, op=3, verb="send", outcome=Outcome.OK, handle=1, message_id=MessageId(1, 0), sequence_id=0
    )
    script.add(Fired, 25, fault=1, action="cut", conn=0)
    script.add(Closed, 25, conn=0, by=ClosedBy.FAULT, reset=True)
    script.add(Opened, 29.4, conn=1)
    script.send(31.0, 1, 2, 30)
    script.send(31.2, 1, 1, 31)
    script.stored(31.5, 1, 2)
    script.stored(31.6, 2, 1)
    script.add(
        Completion,
        40,
        op=5,
        verb="send",
        outcome=Outcome.UNKNOWN,
        handle=1,
        error=ErrorClass.TIMEOUT,
        text="TimeOut: \x1b[31m[bold]<b>late</b>",
    )
    script.add(Received, 41, handle=2, delivery=1, message_id=MessageId(1, 0), size=1024, digest=1)
    script.add(Ended, 60, how=Ending.DONE)
    return script.events


@pytest.fixture
def sample() -> Sample:
    return Sample()
