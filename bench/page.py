"""How long a large report takes: `python bench/page.py [--requirements 250] [--cases 2000]`.

Writes the page of a run with that many requirements and Cases, each Case judged by forty of them and one in fifty
failing with a story of forty events; then opens it in headless Chromium and searches it. The browser's figures are from
the start of navigation to the end of `load`, and from a typed word to the next painted frame. Needs playwright and a
Chromium of the system.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from assay_conformance.catalogue import Catalogue, parse
from assay_conformance.checks.fold import fold
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case
from assay_conformance.model.event import Event
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.run import BrokerInfo, LoadSource, Machine, RunInfo
from assay_conformance.model.schema import CURRENT, FileKind
from assay_conformance.model.verdict import Finding, Grade, Judgement, Verdict
from assay_reports.expectations import Expectations, Known
from assay_reports.outcome import outcome
from assay_reports.page import page
from assay_reports.report import Report
from assay_reports.standing import stand
from assay_reports.verdicts import verdicts

CHAPTERS = 20
JUDGED = 40
ONE_FAILS_IN = 50
SENDS = 10

ENTRY = """
["c{chapter}.rule-{number}"]
row = "BIG-{number:03}"
title = "Rule {number} holds whatever happens"
level = "MUST"
side = "client"
status = "documented"
disposition = "tested"
clause = "Rule {number} of chapter {chapter} is kept while connections end, brokers restart and receipts are lost."
why = "Messages are lost otherwise."
sources = [{{ name = "Documentation", link = "https://example.org/{number}" }}]
"""

OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
SEARCHED = """() => new Promise((done) => {
  const began = performance.now();
  const search = document.getElementById("search");
  search.value = "rule-17";
  search.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
})"""


def catalogue(requirements: int) -> Catalogue:
    chapters = [f"c{number}" for number in range(CHAPTERS)]
    texts = {"chapters.toml": "".join(f'[{chapter}]\ntitle = "Chapter {chapter}"\n' for chapter in chapters)}
    for index, chapter in enumerate(chapters):
        numbers = range(index, requirements, CHAPTERS)
        texts[f"{chapter}.toml"] = "".join(ENTRY.format(chapter=index, number=number) for number in numbers)
    return parse(texts)


def story() -> list[Event]:
    script = Script()
    script.producer()
    for number in range(SENDS):
        script.send(number)
        script.send_frame(number)
        script.stored(number)
        script.receipt(number)
        script.ok(number)
    return script.done()


def judgements(ids: list[RequirementId], cases: int, events: list[Event]) -> Iterator[Judgement]:
    for number in range(cases):
        case = f"chapter-{number % CHAPTERS}/case-{number}"
        for step in range(JUDGED):
            requirement = ids[(number * 7 + step * 3) % len(ids)]
            fails = step == 0 and number % ONE_FAILS_IN == 0
            seqs = tuple(event.seq for event in events[20:23])
            finding = Finding(
                requirement=requirement,
                code="broken",
                case=case,
                sentence="producer 1 sent sequence id 2 before 1 on connection 1: expected 1, came 2",
                events=seqs,
                grade=Grade.A,
            )
            yield Judgement(
                requirement=requirement,
                case=case,
                verdict=Verdict.FAIL if fails else Verdict.PASS,
                exercised=3,
                findings=(finding,) if fails else (),
            )


def large(requirements: int, cases: int) -> Report:
    known, events = catalogue(requirements), story()
    ids = [requirement.id for requirement in known.requirements.values()]
    judged = list(judgements(ids, cases, events))
    names = list(dict.fromkeys(judgement.case for judgement in judged))
    run = RunInfo(
        schema=str(CURRENT[FileKind.RUN]),
        file=FileKind.RUN,
        run="large",
        suite="0",
        catalogue=known.revision,
        hypothesis="0",
        facts=ClientFacts(
            agent="none", client="none", client_version="1.0", capabilities=frozenset({"producer"}), fixed={}
        ),
        announced="1.0",
        broker=BrokerInfo(kind="embedded", name="assay", version="0"),
        machine=Machine(python="3", cpus=2, platform="any"),
        load_source=LoadSource.SCHEDSTAT,
        seed=0,
        started_unix_ms=0,
        ended_unix_ms=60_000,
    )
    nothing = Expectations(agent="none", tested="*", entries=(), where="none")
    expected = [Known(nothing, "1.0")]
    standing = stand(fold(judged, known.requirements, names), judged, expected, date(2026, 1, 1), frozenset(names))
    told = outcome(standing, selected=len(names), strict=False)
    return Report(
        run=run,
        catalogue=known,
        verdicts=verdicts(run, standing, told, catalogue=known.revision, tested=True),
        cases={name: Case(id=name, title=f"What {name} does", requirements=(), steps=()) for name in names},
        folder="runs/large",
        events=lambda _case, _attempt: events,
        replays={},
    )


def opened(browser: Browser, path: Path) -> tuple[float, float]:
    """(milliseconds to the end of `load`, milliseconds to find a word)."""
    shown = browser.new_page()
    shown.goto(path.as_uri())
    took = shown.evaluate(OPENED), shown.evaluate(SEARCHED)
    shown.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requirements", type=int, default=250)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    report = large(options.requirements, options.cases)
    began = time.perf_counter()
    document = page(report)
    print(f"written in {time.perf_counter() - began:.2f} s, {len(document) / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "report.html")
        path.write_text(document, "utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        rounds = [opened(browser, path) for _ in range(options.rounds)]
        browser.close()
    for words, taken in zip(("opened", "searched"), zip(*rounds, strict=True), strict=True):
        print(f"{words:9} {statistics.median(taken):6.0f} ms  ({min(taken):.0f} .. {max(taken):.0f})")


if __name__ == "__main__":
    main()
