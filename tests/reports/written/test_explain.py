"""What `explain` tells of a requirement, and that no requirement of ours lacks a part of it."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.catalogue import load
from assay_conformance.pulsar.cases import all_cases
from assay_conformance.pulsar.registry import CHECKS
from assay_reports.explain import explanation, sections

Sample = Any
CATALOGUE = load()
CASES = tuple(all_cases())


def told(id: str) -> dict[str, str]:
    parts = sections(explanation(CATALOGUE.requirements[id], CATALOGUE, CHECKS, CASES))
    return {heading: "\n".join(lines) for heading, lines in parts}


def test_clause_comes_with_level_side_and_status() -> None:
    assert told("resend.keeps-queue-order")["Clause"].endswith("MUST, the client side's duty, de-facto")


def test_what_a_requirement_covers_is_told_in_words() -> None:
    text = told("flow.max-pending-across-partitions")["It covers"]
    assert text.startswith("5/V-5: A partition's queue holds the lesser of its limit")


def test_source_comes_with_its_link() -> None:
    assert "https://github.com/apache/pulsar/pull/12779" in told("resend.keeps-queue-order")["Sources"]


def test_how_it_is_tested_names_cases_and_their_faults() -> None:
    text = told("resend.keeps-queue-order")["How it is tested"]
    assert "resend/queue-order: Pending sends are sent again in order" in text
    assert "    drop the 2nd SEND_RECEIPT" in text


def test_how_it_is_tested_names_the_check() -> None:
    text = told("ordering.delivers-in-message-id-order")["How it is tested"]
    assert "assay_conformance.pulsar.checks.ordering.delivers_in_message_id_order.delivers_in_message_id_order" in text


def test_what_a_requirement_presupposes_is_named() -> None:
    text = told("batching.lowest-sequence-id")["Cannot be judged where these are broken"]
    assert text == "batching.highest-sequence-id"


def test_failure_of_the_broker_says_nothing_about_the_client() -> None:
    assert "says nothing about the client" in told("dedup.duplicate-not-stored")["A failure means"]


def test_what_is_not_testable_says_which_lever_was_tried_and_names_no_check() -> None:
    parts = told("ack.properties-or-transaction-not-grouped")
    assert parts["A failure means"].endswith("Nothing judges it, and no certificate claims it.")
    assert "No application can issue one" in parts["Why it is not-testable"]
    assert parts["The lever that was tried"].startswith("A group interval of seconds")
    assert "How it is tested" not in parts
    assert "Profiles" not in parts


@pytest.mark.parametrize("id", CATALOGUE.requirements)
def test_every_requirement_is_told_in_full(id: str) -> None:
    parts = told(id)
    assert all(parts[heading] for heading in ("Clause", "Sources", "Why it matters", "A failure means"))
    assert len(parts["A failure means"].splitlines()) == 2, f"chapters.toml: {id.partition('.')[0]!r} needs 'broken'"
