"""Every requirement shown both ways, through runner, broker, link and checks, in virtual time.

An honest client on an honest broker passes every Case, and no check finds anything in it. With a mutant in place of the
client or the broker, what it breaks fails in one of its Cases, and nothing else does but what the table `ALSO` admits,
with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

import pytest
from tests.drawn import few_cases, few_of
from tests.exam import kill_matrix
from tests.profiles import NIGHTLY

from assay_conformance.model.case import Case
from assay_conformance.model.verdict import BROKEN
from assay_conformance.pulsar.mutants import mutants
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial, Tried, in_memory

PACK = load_packs()
# Those with other faults than of frames, and deaths of the client, need what is real: tests/real.
CASES = {case.id: case for case in PACK.cases if in_memory(case)}

ALSO: dict[str, tuple[frozenset[str], str]] = {
    "flush-sends-empty-batch": (
        frozenset({"ordering.sequence-ids-increase-by-one"}),
        "the batch without a message has a sequence id that another one has, too",
    ),
    "empty-with-properties-discarded": (
        frozenset({"delivery.reaches-waiting-receive"}),
        "what is discarded reaches no receive",
    ),
    "null-value-discarded": (
        frozenset({"delivery.reaches-waiting-receive"}),
        "what is discarded reaches no receive",
    ),
    **dict.fromkeys(
        ("second-batch-never-ends", "batch-timer-needs-connection", "close-sends-one-key"),
        (frozenset({"robustness.calls-do-not-hang"}), "what is never ended does not end in time"),
    ),
    "send-timeout-ends-with-connection": (
        frozenset({"robustness.calls-do-not-hang"}),
        "a send without a receipt ends by its time-out only",
    ),
    "counts-dropped-messages": (
        frozenset({"chunking.delivers-whole-only"}),
        "a message that is dropped too early is not delivered",
    ),
    "close-while-registering-ignored": (
        frozenset({"robustness.calls-do-not-hang"}),
        "what waits for a producer that does not come back does not end in time",
    ),
    "pattern-evaluated-once": (
        frozenset({"delivery.resumes-after-fault"}),
        "what is sent to a topic that is not subscribed to does not come",
    ),
    "ack-timeout-redelivers-all": (
        frozenset({"nack.request-names-messages"}),
        "a request for everything names no message",
    ),
    "missed-topics-not-asked-for": (
        frozenset({"delivery.resumes-after-fault"}),
        "what is sent to a topic that is not subscribed to does not come",
    ),
    "ack-list-lost": (
        frozenset({"ack.flushed-in-time"}),
        "what is never sent is not sent in time either",
    ),
    "send-in-callback-hangs": (
        frozenset({"producer.flush-waits"}),
        "a flush after a send that was never taken does not wait for it",
    ),
    "full-queue-stops-reading": (
        frozenset(
            {"delivery.reaches-waiting-receive", "robustness.calls-do-not-hang", "robustness.failure-needs-cause"}
        ),
        "what is not read for as long as nothing is received reaches no receive, and its calls time out or never end",
    ),
    "running-handler-stops-reading": (
        frozenset(
            {
                "delivery.reaches-waiting-receive",
                "listener.blocked-handler-delays-no-other",
                "listener.close-waits-for-no-handler",
                "robustness.calls-do-not-hang",
                "robustness.failure-needs-cause",
            }
        ),
        "what is not read while a handler runs reaches no receive, and calls time out or never end, a close among them",
    ),
    "waits-for-unread-consumers": (
        frozenset({"flow.dropped-message-returns-permit", "flow.waiting-receive-has-permits"}),
        "a consumer whose messages wait for another one is given nothing, and grants nothing",
    ),
    "batch-fails-first-only": (
        frozenset({"robustness.success-needs-answer"}),
        "a message of the batch that failed is reported as sent",
    ),
    "keeps-credentials-too-long": (
        frozenset({"connection.answers-auth-challenge"}),
        "a challenge is answered with what is kept, without asking for anything fresh",
    ),
    "refused-partition-keeps-send": (
        frozenset({"robustness.calls-do-not-hang"}),
        "the send that is kept never ends",
    ),
    "stale-receipt-completes-head": (
        frozenset({"robustness.success-needs-answer"}),
        "the send at the head succeeds by a receipt that is none of its own",
    ),
    "supplier-failure-is-final": (
        frozenset({"resend.waits-for-producer-success"}),
        "its producer never comes back, and what is pending is never sent again",
    ),
    "supplier-failure-unnoticed": (
        frozenset({"connection.reconnects-after-supplier-failure"}),
        "a client that has not noticed does not try again either",
    ),
    "batch-never-times-out": (
        frozenset({"robustness.calls-do-not-hang"}),
        "a batch receive that waits for what does not come never ends",
    ),
    "batch-leaves-last": (
        frozenset({"batch-receive.ends-at-first-limit"}),
        "a full batch that leaves a message is not full",
    ),
    "batch-drops-rest": (
        frozenset({"batch-receive.ends-at-first-limit", "delivery.reaches-waiting-receive"}),
        "what was dropped fills no batch, and reaches no receive",
    ),
    "close-waits-for-handler": (
        frozenset({"robustness.calls-do-not-hang"}),
        "a close that waits for a handler that closes never ends",
    ),
    "exception-ends-listener": (
        frozenset({"delivery.reaches-waiting-receive"}),
        "what has come is handed to no handler call that is waited for",
    ),
    "blocked-handler-holds-receives": (
        frozenset({"delivery.reaches-waiting-receive"}),
        "what is held up by a handler is kept from a receive that waits",
    ),
    "ack-inside-handler-hangs": (
        frozenset({"robustness.calls-do-not-hang"}),
        "an acknowledgment that waits for its own thread never ends",
    ),
    "overtakes-resend": (
        frozenset({"resend.keeps-queue-order"}),
        "what overtakes a resend breaks its order and the topic's",
    ),
    "renumbers-on-reconnect": (
        frozenset({"ordering.sequence-ids-increase-by-one"}),
        "ids that follow the broker's word do not step by one",
    ),
    "ignores-last-sequence-id": (
        frozenset({"dedup.effectively-once", "delivery.successful-send-is-stored"}),
        "ids used twice are dropped as duplicates, and lost",
    ),
    "acks-on-first-topic": (
        frozenset({"ack.flushed-in-time"}),
        "where an acknowledgment was to be sent, none is",
    ),
    "seek-keeps-prefetched": (
        frozenset({"seek.starts-at-target"}),
        "what was left in the queue is handed out first",
    ),
    "seek-keeps-acks": (
        frozenset({"seek.starts-at-target"}),
        "what a stale acknowledgment takes away does not come first",
    ),
    "appends-repeated-chunk": (
        frozenset({"delivery.payload-unchanged", "delivery.no-phantom-messages"}),
        "a message with a chunk too much is not the one sent",
    ),
    "assembles-one-message-at-a-time": (
        frozenset({"chunking.delivers-whole-only"}),
        "a message that is discarded is not delivered either",
    ),
    "first-flow-too-large": (
        frozenset({"flow.permits-within-queue"}),
        "a permit too many at first is one too many ever after",
    ),
    "loses-split-frame-length": (
        frozenset({"robustness.calls-do-not-hang"}),
        "requests whose answers are thrown away do not end in time",
    ),
    "redelivers-acked": (
        frozenset({"ack.applies-to-named-messages"}),
        "what an ACK settled comes again",
    ),
    "acks-named-message-only": (
        frozenset({"subscription.resumes-at-first-unacked"}),
        "what is settled in part is sent again to who comes back",
    ),
    "cumulative-accepts-several-ids": (
        frozenset({"subscription.resumes-at-first-unacked"}),
        "what is settled wrongly does not come again",
    ),
    "loses-receipted-append": (
        frozenset(
            {
                "chunking.survives-reconnect",
                "delivery.successful-send-is-delivered",
                "delivery.statistics-per-fault",
                "ordering.keeps-send-order",
            }
        ),
        "what is lost is delivered to nobody, and the topic lacks it; so it is with a chunk",
    ),
    "resends-last-chunks-only": (
        frozenset({"chunking.splits-large-message", "chunking.survives-reconnect", "ordering.keeps-send-order"}),
        "a message that lacks a chunk was not sent again as it was, and the topic lacks it",
    ),
    "rejected-reconnect-is-final": (
        frozenset({"resend.pending-sends-resent"}),
        "what fails with its producer is not sent again",
    ),
    "batch-sequence-id-is-highest": (
        frozenset({"dedup.resumes-after-last-sequence-id"}),
        "a first batch does not go by the first id",
    ),
    "opens-beyond-timeout": (
        frozenset({"robustness.calls-do-not-hang"}),
        "an opening that goes on does not end",
    ),
    "ack-response-ends-one-call": (
        frozenset({"robustness.calls-do-not-hang"}),
        "the calls after it do not end",
    ),
    "awaits-ack-response-of-old-broker": (
        frozenset({"robustness.calls-do-not-hang"}),
        "what waits for an answer that never comes does not end",
    ),
    "empty-payload-dropped": (
        frozenset({"compression.interoperable-format", "delivery.reaches-waiting-receive"}),
        "an empty message that is compressed is not read either, and a receive waits for one in vain",
    ),
    "returns-permit-twice": (
        frozenset({"flow.no-permit-for-ack-set-filtered"}),
        "of permits too many nobody sees what they were granted for",
    ),
    "filtered-redelivery-keeps-permit": (
        frozenset({"flow.dropped-message-returns-permit", "flow.waiting-receive-has-permits"}),
        "what is dropped is dropped, whatever for; with the last permit nothing is left to ask with",
    ),
    "decompression-error-keeps-permit": (
        frozenset({"flow.dropped-message-returns-permit"}),
        "what is dropped is dropped, whatever for",
    ),
    "checksum-mismatch-keeps-permit": (
        frozenset({"flow.dropped-message-returns-permit", "flow.waiting-receive-has-permits"}),
        "what is dropped is dropped, whatever for; with the last permit nothing is left to ask with",
    ),
    "ignores-close-producer": (
        frozenset({"robustness.calls-do-not-hang"}),
        "what goes to a broker that does not listen never ends",
    ),
    "pending-outlives-close": (
        frozenset({"robustness.calls-do-not-hang"}),
        "what a close leaves pending never ends",
    ),
    "full-queue-stops-batch-timer": (
        frozenset({"robustness.calls-do-not-hang"}),
        "a batch that never leaves ends no send",
    ),
    "batch-ignores-delay": (
        frozenset({"batching.wider-limits-fill-batches"}),
        "a delay that nobody reads gathers nothing",
    ),
    "send-never-times-out": (
        frozenset({"robustness.calls-do-not-hang"}),
        "a send that never times out never ends",
    ),
    "sync-send-returns-at-once": (
        frozenset({"ordering.callbacks-in-send-order", "robustness.success-needs-answer"}),
        "what returns early returns before the sends in front; "
        "a send that returns before its receipt has succeeded without one",
    ),
    "delayed-overtakes-batch": (
        frozenset({"ordering.callbacks-in-send-order"}),
        "what is sent first is receipted first",
    ),
    "uncompressed-size-without-headers": (
        frozenset({"ordering.keeps-send-order"}),
        "what nobody can take apart is not on the topic",
    ),
    "compresses-each-message-too": (
        frozenset({"delivery.no-phantom-messages", "delivery.successful-send-is-stored", "ordering.keeps-send-order"}),
        "what nobody can take apart is not on the topic",
    ),
    "key-based-batch-sends-id-range": (
        frozenset({"delivery.successful-send-is-stored"}),
        "what is dropped as a duplicate is reported as sent",
    ),
    "key-based-batches-unsorted": (
        frozenset({"delivery.successful-send-is-stored"}),
        "what is dropped as a duplicate is reported as sent",
    ),
    "batch-of-one-not-unpacked": (
        frozenset(
            {"delivery.payload-unchanged", "delivery.no-phantom-messages", "robustness.edge-case-payloads-round-trip"}
        ),
        "a message with a header in front is another",
    ),
    "default-hash-is-murmur3": (
        frozenset({"routing.java-string-hash"}),
        "the default it declares is not what it does",
    ),
    "omits-uncompressed-size": (
        frozenset({"ordering.keeps-send-order"}),
        "what nobody can decompress is not on the topic",
    ),
    "batching-window-of-one-never-ends": (
        frozenset({"routing.round-robin-batching-window"}),
        "a window that never ends is no window",
    ),
    "single-partition-ignores-keys": (
        frozenset({"routing.declared-default-hash", "routing.default-hash", "routing.java-string-hash"}),
        "a key that is not hashed is not where its hash says",
    ),
    "dispatch-ignores-rate": (
        frozenset({"throttling.reads-within-quota"}),
        "a rate that is not looked at sizes no read",
    ),
    "reads-beyond-quota": (
        frozenset({"throttling.dispatch-rate-holds"}),
        "a read of a hundred is more than a period allows",
    ),
    "redelivery-not-charged": (
        frozenset({"throttling.dispatch-rate-holds", "throttling.replay-overshoots-once"}),
        "what is free leaves beyond the rate",
    ),
    "deletes-unacked": (
        frozenset({"ack.survives-unload", "subscription.resumes-at-first-unacked"}),
        "what is gone is not there for who comes back",
    ),
    "replay-has-own-rate": (
        frozenset({"throttling.dispatch-rate-holds", "throttling.redelivery-is-charged"}),
        "what comes again and is charged to a rate of its own leaves beyond the one that is set",
    ),
    "dispatch-limits-are-alternatives": (
        frozenset({"throttling.reads-within-quota"}),
        "with tokens used up that do not count a read has any size",
    ),
    "dedup-records-lowest": (
        frozenset({"dedup.reports-last-sequence-id"}),
        "what is remembered is what a producer is told",
    ),
    "dedup-checks-early-chunks": (
        frozenset({"chunking.survives-reconnect", "dedup.effectively-once", "delivery.successful-send-is-stored"}),
        "chunks that are dropped as duplicates take their message with them",
    ),
    "reorders-appends": (
        frozenset({"ordering.message-ids-increase"}),
        "a receipt names the place that another message got",
    ),
    "receipts-out-of-order": (
        frozenset({"ordering.message-ids-increase"}),
        "their ids come out of order with them",
    ),
    "entry-ids-restart-after-load": (
        frozenset(
            {"delivery.payload-unchanged", "ordering.keeps-send-order", "robustness.edge-case-payloads-round-trip"}
        ),
        "an id that two messages have is answered with either, and says nothing of their order",
    ),
    "key-shared-ignores-keys": (
        frozenset({"ordering.key-shared-keeps-order"}),
        "what is not kept together is out at two",
    ),
    "crash-loses-last-entry": (
        frozenset({"ack.survives-unload", "subscription.resumes-at-first-unacked"}),
        "what is gone does not come again",
    ),
    "cursor-fills-holes": (
        frozenset({"subscription.shared-entry-at-one-consumer"}),
        "what is lost at a load was left behind by somebody",
    ),
    "loses-chunk": (
        frozenset({"dedup.effectively-once", "delivery.successful-send-is-stored"}),
        "a chunk that is gone takes its message, deduplicated or not",
    ),
    "ignores-migration": (
        frozenset({"robustness.calls-do-not-hang"}),
        "who looks for a topic where it is not finds neither its messages nor an end",
    ),
    "answers-with-old-credentials": (
        frozenset({"robustness.calls-do-not-hang", "connection.asks-supplier-each-time"}),
        "whom the broker does not know any more it does not serve; "
        "the supplier has others by then, and they are not what the answer carries",
    ),
    "retries-fenced": (
        frozenset({"robustness.calls-do-not-hang"}),
        "what waits for a producer that never comes in does not end",
    ),
    "retry-letter-loses-keys": (
        frozenset({"dead-letter.copy-is-complete"}),
        "what a retry letter has lost its dead letter lacks",
    ),
    "delivers-beyond-max-redeliver-count": (
        frozenset({"dead-letter.original-acked-after-receipt"}),
        "what is not buried when it is due is asked for again",
    ),
    "loses-messages-after-reconnect": (
        frozenset({"delivery.statistics-per-fault"}),
        "what is lost is lost to those who count it, too",
    ),
    "resend-loses-payload": (
        frozenset(
            {
                "compression.uncompressed-size-exact",
                "delivery.successful-send-is-delivered",
                "delivery.statistics-per-fault",
                "delivery.successful-send-is-stored",
                "ordering.keeps-send-order",
            }
        ),
        "what comes in place of a message is not the message",
    ),
    "wrong-topic-name-after-reconnect": (
        frozenset({"delivery.successful-send-is-delivered", "delivery.statistics-per-fault"}),
        "a message under the name of another topic is missing where it was sent",
    ),
    "sends-rejected-message": (
        frozenset({"flow.full-queue-blocks-or-fails"}),
        "what is refused because of a full queue is not sent",
    ),
    "delivers-acked-message-again": (
        frozenset({"ordering.delivers-in-message-id-order"}),
        "what comes a second time comes after what was sent later",
    ),
    "redelivery-changes-last-byte": (
        frozenset({"delivery.no-phantom-messages", "robustness.edge-case-payloads-round-trip"}),
        "what is not the message that was sent does not make the round either, and no witness knows it",
    ),
    "no-permits-after-reconnect": (
        frozenset({"flow.permits-reset-on-reconnect", "flow.waiting-receive-has-permits"}),
        "a consumer without permits gets nothing",
    ),
    "fewer-permits-after-reconnect": (
        frozenset({"flow.waiting-receive-has-permits"}),
        "where it counts what came before as used, it may have none left",
    ),
    "view-keeps-removed-keys": (
        frozenset({"table-view.follows-its-topic"}),
        "a key that is removed while the view is open stays as well",
    ),
    "view-stops-when-it-is-back": (
        frozenset({"table-view.reports-each-value"}),
        "what is not taken over is not reported",
    ),
    "delivers-fragments": (
        frozenset({"delivery.successful-send-is-delivered"}),
        "what is delivered in part is not delivered",
    ),
    "publish-throttle-drops": (
        frozenset({"delivery.successful-send-is-stored", "ordering.keeps-send-order"}),
        "what is dropped is not stored, whatever its receipt says",
    ),
    "delayed-lost-on-unload": (
        frozenset({"delivery.successful-send-is-delivered", "delivery.statistics-per-fault"}),
        "what is never delivered is lost",
    ),
    "partitions-forgotten-on-return": (
        frozenset({"delivery.resumes-after-fault"}),
        "what is not asked for does not come",
    ),
    "refused-return-forgets-flow": (
        frozenset({"flow.permits-reset-on-reconnect"}),
        "who grants nothing does not grant the queue",
    ),
}
"""Mutant -> requirements that it may break besides its own, and why that cannot be otherwise."""


WITHOUT_A_MUTANT: dict[str, str] = {
    "delivery.statistics-per-fault": "it counts by fault what other requirements of delivery find",
    "batching.wider-limits-fill-batches": "it compares two producers; a mistake of one breaks a rule of batching",
}
"""Requirement -> why no mutant breaks it: one that does breaks another first, and is that one's."""

UNBREAKABLE: dict[str, str] = {}
"""Requirement -> why no mutant can break it."""

MOST_BROKEN = 10
"""A mutant that breaks more requirements than these shows little about any of them: it is split, or dropped."""


@cache
def _honest(case_id: str) -> Tried:
    return ReferenceTrial().in_virtual_time(CASES[case_id])


def failed_in(tried: Tried) -> tuple[str, ...]:
    """The requirements that are broken in it."""
    return tuple(sorted({str(j.requirement) for j in tried.judgements if j.verdict in BROKEN.values()}))


@pytest.mark.few(150)
@pytest.mark.parametrize("case_id", sorted(CASES))
def test_an_honest_client_passes(case_id: str) -> None:
    told = {j.requirement: (j.verdict.value, j.reason) for j in _honest(case_id).judgements}
    assert {requirement: verdict for requirement, verdict in told.items() if verdict[0] != "pass"} == {}


def failures_with(mutant: str, cases: Collection[Case]) -> dict[str, tuple[str, ...]]:
    """Case -> what is broken in it."""
    return {case.id: failed_in(_trial(mutant).in_virtual_time(case)) for case in cases}


def cases_of(mutant: str) -> list[Case]:
    """Every Case of the requirements it breaks."""
    own = set(mutants()[mutant].breaks)
    return [case for case in CASES.values() if own & set(case.requirements)]


def _trial(mutant: str) -> ReferenceTrial:
    return ReferenceTrial(mutants=frozenset({mutant}))


def named(mutant: str) -> str:
    """The requirement that is to catch it."""
    return mutants()[mutant].breaks[0]


@cache
def _kept() -> dict[str, kill_matrix.Kill]:
    return kill_matrix.kept()


TRIED = 5
"""Cases of a mutant in CI: one for each requirement that it breaks, and others."""


@pytest.mark.parametrize("mutant", mutants())
def test_a_mutant_fails_what_it_breaks_and_nothing_else(mutant: str) -> None:
    kept, known, breaks = _kept()[mutant], cases_of(mutant), mutants()[mutant].breaks
    # `python -m tests.exam.kill_matrix --anew` keeps what is so now.
    assert (kept.breaks, set(kept.failed)) == (breaks, {case.id for case in known})
    first = {cases[0] for cases in kill_matrix.killers(kept).values()}
    failed = failures_with(mutant, few_cases(known, TRIED, first))
    broken = {one for some in failed.values() for one in some}
    assert set(breaks) <= broken, f"it breaks {breaks}, and noticed was {failed}"
    assert broken - set(breaks) - ALSO.get(mutant, (frozenset(), ""))[0] == set()
    assert failed == {case: kept.failed[case] for case in failed}


def test_no_admission_is_left_over() -> None:
    failed = {name: {one for some in kill.failed.values() for one in some} for name, kill in _kept().items()}
    assert {name: also - failed[name] for name, (also, _) in ALSO.items() if also - failed[name]} == {}


WIDE = ("resend-loses-payload",)
"""The mutants that broke most, over all Cases."""


def _in_all_cases() -> Sequence[str]:
    return tuple(mutants()) if NIGHTLY else WIDE


def test_mutants_break_few_requirements() -> None:
    """By what is kept, which is held above against what they do."""
    broken = {name: {one for failed in kill.failed.values() for one in failed} for name, kill in _kept().items()}
    assert [name for name, requirements in broken.items() if len(requirements) > MOST_BROKEN] == []


@pytest.mark.parametrize("mutant", _in_all_cases())
def test_a_mutant_breaks_few_requirements_in_all_cases_together(mutant: str) -> None:
    """A few in CI, and all of them at night: they take hours."""
    failed = failures_with(mutant, few_of(CASES.values(), len(CASES) // 5))
    broken = {one for some in failed.values() for one in some}
    assert len(broken) <= MOST_BROKEN


def test_a_mutant_breaks_every_requirement() -> None:
    """Or it is said why none does."""
    broken = {requirement for mutant in mutants().values() for requirement in mutant.breaks}
    assert set(PACK.checks) - broken == set(WITHOUT_A_MUTANT)


def test_every_requirement_that_is_judged_is_failed_by_something() -> None:
    """Or says why nothing can break it."""
    failed = {one for kill in _kept().values() for requirements in kill.failed.values() for one in requirements}
    assert set(PACK.checks) - failed == set(UNBREAKABLE)


def test_every_mutant_is_on_the_page() -> None:
    known = set(mutants())
    assert (set(kill_matrix.kept()), set(kill_matrix.found().mutants)) == (known, known)
    assert kill_matrix.PAGE.read_text("utf-8") == kill_matrix.written()
