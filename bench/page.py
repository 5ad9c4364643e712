"""How large the page of a run is, and how long it takes: `python bench/page.py [--cases 2000 8374 20000]`.

Writes the page of a run with so many Cases, most of them permutations of others, each judged by forty requirements and
one in ten failing with a story of eighty events. Then opens it in headless Chromium and searches it. The browser's
figures are from the start of navigation to the first paint and to the end of `load`, and from a typed word to the next
painted frame. Ends with exit code 1 where a page is larger than 10 MB, or painted later than after a second. Needs
playwright and a Chromium of the system; `--picture FOLDER` keeps the pages, and pictures of them.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
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
from assay_reports.expectation_matching import match_expectations
from assay_reports.expectations import Expectations, Known
from assay_reports.outcome import outcome
from assay_reports.page import page
from assay_reports.report import Report
from assay_reports.verdicts import verdicts

CHAPTERS = 20
JUDGED = 40
ONE_FAILS_IN = 10
SENDS = 20
PERMUTATIONS = 20
"""Of each Case, itself included."""
CIRCUMSTANCES = "may-be-cut+1-of-3-partitions+wait-for-exclusive+with-properties+blocks+acks-members+short-ledgers"

MOST_BYTES = 10_000_000
LATEST_PAINT_MS = 1_000

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

PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
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
        base, permutation = divmod(number, PERMUTATIONS)
        case = f"chapter-{base % CHAPTERS}/case-{base}"
        case += f"@{permutation}-producers+{CIRCUMSTANCES}" if permutation else ""
        for step in range(JUDGED):
            requirement = ids[(number * 7 + step * 3) % len(ids)]
            fails = step == 0 and number % ONE_FAILS_IN == 0
            seqs = tuple(event.seq for event in events[20:23])
            verdict = Verdict.FAIL if fails else Verdict.PASS
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
                verdict=verdict,
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
    nothing = Expectations(agent="none", tested="*", where="none")
    expected = [Known(nothing, "1.0")]
    standing = match_expectations(
        fold(judged, known.requirements, names), judged, expected, date(2026, 1, 1), frozenset(names)
    )
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


def opened(browser: Browser, path: Path) -> tuple[float, float, float]:
    """Return the milliseconds to the first paint, to the end of `load`, and to find a word."""
    shown = browser.new_page()
    shown.goto(path.as_uri())
    shown.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
    took = shown.evaluate(PAINTED), shown.evaluate(OPENED), shown.evaluate(SEARCHED)
    shown.close()
    return took


def measured(browser: Browser, report: Report, folder: Path, rounds: int, *, picture: bool) -> bool:
    """Print what the page of a run takes; return whether that is within the bounds."""
    began = time.perf_counter()
    document = page(report).encode()
    print(f"{len(report.cases)} Cases: {len(document) / 1e6:.1f} MB, written in {time.perf_counter() - began:.2f} s")
    path = folder / f"report-{len(report.cases)}.html"
    path.write_bytes(document)
    taken = list(zip(*(opened(browser, path) for _ in range(rounds)), strict=True))
    for words, each in zip(("painted", "opened", "searched"), taken, strict=True):
        print(f"  {words:9} {statistics.median(each):6.0f} ms  ({min(each):.0f} .. {max(each):.0f})")
    if picture:
        shown = browser.new_page()
        shown.goto(path.as_uri())
        shown.screenshot(path=path.with_suffix(".png"))
        shown.close()
    return len(document) <= MOST_BYTES and statistics.median(taken[0]) <= LATEST_PAINT_MS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requirements", type=int, default=250)
    parser.add_argument("--cases", type=int, nargs="+", default=[2_000, 8_374, 20_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--picture", type=Path, help="keep the pages in this folder, and a picture of each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = options.picture or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        within = [
            measured(browser, large(options.requirements, cases), folder, options.rounds, picture=bool(options.picture))
            for cases in options.cases
        ]
        browser.close()
    sys.exit(not all(within))


if __name__ == "__main__":
    main()
