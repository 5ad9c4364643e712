"""report.html: what it must say, and what hostile text in a run must not do to it. What it does: `browser/`."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Verdict
from assay_reports.certificate import Claim
from assay_reports.page import page
from assay_reports.page.overview import cases, cells, filters

Sample = Any


class _Page(HTMLParser):
    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def meta(self, name: str) -> str:
        (found,) = [a["content"] for tag, a in self.tags if tag == "meta" and a.get("http-equiv") == name]
        return found or ""


def test_page_is_one_file(sample: Sample) -> None:
    read = _Page(page(sample.hostile()))
    assert not {tag for tag, _ in read.tags} & {"link", "img", "iframe", "object", "embed", "base"}
    assert not [attributes for _, attributes in read.tags if {"src", "style", "action"} & set(attributes)]
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]


def test_security_policy_allows_the_pages_own_style_and_script_alone(sample: Sample) -> None:
    document = page(sample.report(sample.judged()))
    (style,), (script,) = (re.findall(rf"<{tag}>(.*?)</{tag}>", document, re.DOTALL) for tag in ("style", "script"))
    policy = _Page(document).meta("Content-Security-Policy")
    assert policy == (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_hostile_text_stays_text_on_the_page(sample: Sample) -> None:
    document = page(sample.hostile())
    assert document.count("<script") == 1
    assert "{{ 7*7 }}" in document
    assert "\x1b" not in document
    assert "\u202e" not in document


def test_link_that_is_not_http_stays_text(sample: Sample) -> None:
    report = sample.report(sample.judged())
    source = report.catalogue.requirements["resend.keeps-order"].sources[0]
    document = page(report).replace(source.link, "")
    assert "javascript:" not in document
    links = [attributes["href"] for tag, attributes in _Page(page(report)).tags if tag == "a"]
    assert {link for link in links if link and not link.startswith("#")} == {source.link}


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", " https://x", ""])
def test_only_http_links_become_links(link: str) -> None:
    from assay_reports.page import is_http

    assert not is_http(link)


def test_timeline_draws_lanes_arrows_and_fault_bands(sample: Sample) -> None:
    document = page(sample.report(sample.judged(Verdict.FAIL, "out-of-order")))
    classes = " ".join(str(a.get("class")) for _, a in _Page(document).tags).split()
    assert {"band", "bar", "arrow", "life", "named", "client", "wire", "broker", "bench"} <= set(classes)


def test_page_tells_clause_replay_and_environment(sample: Sample) -> None:
    text = " ".join(_Page(page(sample.report(sample.judged(Verdict.FAIL, "out-of-order")))).text)
    assert "Sends that go out again after a reconnect" in text
    assert "assay replay 2026-06-01-101500/replay" in text
    assert "Linux-x86_64, 2 cores, Python 3.11.2" in text
    assert "assay check 2026-06-01-101500" in text


def test_page_shows_the_evidence_of_a_listed_failure(sample: Sample) -> None:
    entry = sample.entry(excerpt="SEND 2\nSEND 1", link="https://example.org/known", versions=">=3,<4")
    document = page(sample.report(sample.judged(Verdict.FAIL, "out-of-order", "lost"), entries=[entry]))
    text = " ".join(_Page(document).text)
    assert "for >=3,<4: resends by hash order" in text
    assert "SEND 2\nSEND 1" in text
    assert document.count('href="https://example.org/known"') == 1


def test_same_run_gives_the_same_page(sample: Sample) -> None:
    assert page(sample.report(sample.judged())) == page(sample.report(sample.judged()))


def test_axis_holds_every_event_where_it_was_in_time(sample: Sample) -> None:
    read = _Page(page(sample.report(sample.judged(Verdict.FAIL, "out-of-order"))))
    (story,) = [json.loads(str(a["data-story"])) for _, a in read.tags if "data-story" in a]
    named = {number: (ms, lane) for ms, lane, _text, _seq, number in story["points"] if number}
    assert named == {1: (12.6, "wire"), 2: (31.0, "wire"), 3: (31.2, "wire")}
    assert story["bands"] == [["F0", "hold the 1st SEND_RECEIPT, broker to client", 13.1, 22.1]]


def test_story_is_told_as_text_too(sample: Sample) -> None:
    text = " ".join(" ".join(_Page(page(sample.report(sample.judged(Verdict.FAIL, "out-of-order")))).text).split())
    assert "(2) 31.0 ms wire SEND producer 1 sequence 2 · conn 1" in text


def test_every_link_inside_the_page_has_a_target(sample: Sample) -> None:
    read = _Page(page(sample.report(sample.judged())))
    ids = {attributes.get("id") for _, attributes in read.tags}
    inside = [str(a["href"])[1:] for tag, a in read.tags if tag == "a" and str(a["href"]).startswith("#")]
    assert inside
    assert set(inside) <= ids


def test_filters_are_questions_with_more_than_one_answer(sample: Sample) -> None:
    report = sample.report(
        sample.judged(), sample.judged(Verdict.UNTESTABLE, requirement="resend.pending-sends-resent")
    )
    told = {one.name: [(choice.value, choice.count) for choice in one.choices] for one in filters(report)}
    assert told == {
        "verdict": [("pass", 1), ("untestable", 1)],
        "seen": [("exercised", 1), ("never exercised", 1)],
    }


def test_cases_with_something_to_tell_stand_apart_from_quiet_ones(sample: Sample) -> None:
    report = sample.report(sample.judged(Verdict.FAIL, "lost"), sample.judged(case="ack/close-flushes"))
    under = cells(report)[RequirementId("resend.keeps-order")]
    assert ([cell.case for cell in under.listed.shown], [case.id for case in under.quiet.shown]) == (
        ["resend/cut-after-second-receipt"],
        ["ack/close-flushes"],
    )


def test_a_case_shows_the_worst_it_came_to(sample: Sample) -> None:
    (case,) = cases(
        sample.report(sample.judged(), sample.judged(Verdict.FAIL, "x", requirement="resend.pending-sends-resent"))
    ).shown
    assert (case.worst.verdict, case.exercised, case.judged) == (Verdict.FAIL, 2, 2)


def test_profiles_say_why_they_are_not_claimed(sample: Sample) -> None:
    claims = (
        Claim(profile="producer-core", title="Sends", claimed=True, requirements=3),
        Claim(profile="dedup", title="Once", claimed=False, requirements=2, because=("not declared: dedup_resume",)),
    )
    read = _Page(page(dataclasses.replace(sample.report(sample.judged()), claims=claims)))
    text = " ".join(" ".join(read.text).split())
    assert "claimed Sends producer-core 3 not claimed Once dedup not declared: dedup_resume" in text
