"""The catalogue leaves no statement on exact semantics out: a requirement covers it, or it says why none does."""

from __future__ import annotations

from collections import Counter

import pytest

from assay_conformance import catalogue
from assay_conformance.model.errors import UsageError

STATEMENTS = {
    "3.1": """
        ids-in-call-order queued-in-call-order new-behind-resent added-while-iterating broker-keeps-arrival
        consumer-queue-is-fifo delayed-behind-open-batch keyed-flush-rises keyed-flush-tells-highest
        time-out-leaves-holes epoch-drops-older key-stays key-drains-first key-to-the-application
        key-order-given-up partitions-apart
    """,
    "3.2": """
        accepted-while-away registers-as-itself resends-from-the-head closed-does-not-resend schema-before-resend
        no-checksum-before-v6 open-batch-stays-open receipt-ahead-of-head receipt-before-head receipt-of-nothing
        receipt-by-highest-id receipt-settles-head error-checksum error-terminated error-not-allowed error-passing
        producer-times-out producer-topic-gone producer-quota-exception producer-quota-error producer-final
        producer-busy backoff-grows attempt-before-time-out assigned-broker-first time-out-of-the-queue
        time-out-spares-connection batch-ages-from-its-first close-behind-receipts close-fails-the-rest
    """,
    "3.3": """
        persisted-is-duplicate pushed-is-undecided undecided-is-asked-again highest-is-recorded lowest-is-compared
        clients-do-not-mix early-chunks-pass failed-write-forgets success-tells-arrived snapshot-and-replay
        highest-in-metadata markers-are-exempt idle-names-are-purged many-names-are-kept gaps-are-fine same-id-again
        duplicate-overtakes name-twice-is-busy name-again-continues own-numbers-on-return nameless-is-new
        chunks-come-twice chunks-without-an-end
    """,
    "3.4": """
        trigger chunk-size chunk-size-setting metadata-leave-no-room frame-within-limit number-of-chunks
        metadata-of-a-chunk encrypted-by-chunk places-in-the-queue last-receipt-completes assembled-by-uuid
        chunk-returns-permit incomplete-are-bounded no-bound-is-zero incomplete-expire no-expiry-is-zero
        unpacked-when-whole redelivers-all-chunks
        cumulative-names-last cumulative-covers-others seek-names-first first-begins first-again-same-entry
        first-again-other-entry held-again-same-entry held-again-other-entry gap-discards resumes-inside limit-shrinks
    """,
    "3.5": """
        interval size immediate immediate-with-more flush-order kept-while-away filters-what-comes-again seek-flushes
        close-flushes receipts entry-takes-its-bits cumulative-grows batch-without-bits cumulative-inside-batch
        batch-with-bits chunked-names-each forms-on-the-wire broker-settles-entries broker-joins-bits
        broker-wants-one-id broker-ignores-on-shared broker-takes-unknown-ids broker-answers-when-done
        cursor-is-written-seldom bound-of-first bound-of-frames bound-of-close
    """,
    "3.6": """
        default-delay structure one-timer precision window ids-of-a-command least-delay backoff batch-member
        refused-then-acked exclusive-all close-drops redeliveries-counted maximum-counts maximum-is-seen-or-not
        buckets time-out-window time-out-least time-out-by-type refusal-ends-time-out
    """,
    "3.7": """
        read-by-permits read-by-tokens read-of-one read-precisely read-by-bytes without-backlog looks-again
        charged-afterwards charged-by-entry charged-again tokens-recur bound-above bound-below two-readers both-kinds
        relative-to-publish-rate levels partitions precedence non-persistent-drops publish-pauses publish-promises
        publish-burst publish-both-kinds publish-levels publish-groups publish-queues-pauses publish-stops-neighbours
        publish-and-keep-alive publish-and-time-out unwritten-pause buffer-of-a-broker
    """,
    "5": """
        V-1 V-2 V-3 V-4 V-5 V-6 V-7 V-8 V-9 V-10
    """,
}
"""Section -> its statements, in their order."""

CATALOGUE = catalogue.load()
COVERED = Counter(name for one in CATALOGUE.requirements.values() for name in one.covers)
ENTRY = """
["ack.example"]
row = "ACK-001"
title = "An example"
level = "MUST"
side = "client"
status = "documented"
disposition = "tested"
clause = "Something must hold."
sources = []
covers = ["3.5/interval"]
"""


@pytest.mark.parametrize("section", STATEMENTS)
def test_every_statement_of_a_section_is_there(section: str) -> None:
    named = [name.partition("/")[2] for name in CATALOGUE.statements if name.startswith(f"{section}/")]
    assert sorted(named) == sorted(STATEMENTS[section].split())


@pytest.mark.parametrize("name", CATALOGUE.statements)
def test_every_statement_is_covered_or_says_why_not(name: str) -> None:
    assert bool(COVERED[name]) != bool(CATALOGUE.statements[name].reason)


def test_no_entry_names_a_statement_twice() -> None:
    assert [one.id for one in CATALOGUE.requirements.values() if len(set(one.covers)) < len(one.covers)] == []


def test_statement_that_nobody_made_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^ack.example: statement '3.5/interval' is not stated in statements.toml"):
        catalogue.parse({"ack.toml": ENTRY})


def test_entry_may_name_a_statement() -> None:
    stated = catalogue.parse({"ack.toml": ENTRY, "statements.toml": '["3.5"]\ninterval = "Soon."\n'})
    assert (stated.statements["3.5/interval"].words, stated.statements["3.5/interval"].reason) == ("Soon.", "")


def test_statement_without_words_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^statements.toml: '3.5/interval': Object missing required field `words`"):
        catalogue.parse({"statements.toml": '["3.5".interval]\nreason = "Nobody knows."\n'})


def test_statement_that_nobody_is_held_to_states_no_duty() -> None:
    told = {name: one.reason for name, one in CATALOGUE.statements.items() if one.reason}
    assert [name for name, reason in told.items() if not reason.startswith("States no duty")] == []


def test_statement_that_nobody_is_held_to_stands_beside_a_requirement() -> None:
    told = CATALOGUE.statements.values()
    assert {one.name for one in told if one.beside} == {one.name for one in told if one.reason}


def test_statement_beside_what_nobody_states_is_refused() -> None:
    statement = '["3.5"]\ninterval = { words = "Soon.", reason = "States no duty.", beside = "ack.other" }\n'
    with pytest.raises(UsageError, match=r"^3.5/interval: requirement 'ack.other' is not stated in any chapter"):
        catalogue.parse({"ack.toml": ENTRY, "statements.toml": statement})
