"""Every requirement shown both ways, through runner, broker, link and checks, in virtual time.

An honest client on an honest broker passes every Case, and no check finds anything in it. With one rule broken, by the
client or by the broker, the requirement of that rule fails in one of its Cases, and nothing else does but what the
table `ALSO` admits, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from tests.exam import kill_matrix
from tests.exam.named import NAMED, NOT_NAMED
from tests.profiles import NIGHTLY

from assay_conformance.broker import BrokerMutation
from assay_conformance.client import Mutation
from assay_conformance.client.mutations import MUTATIONS
from assay_conformance.model.case import Case
from assay_conformance.model.verdict import BROKEN
from assay_fixtures.packs import load_packs
from assay_fixtures.reference.probe import ReferenceTrial, Tried, in_memory

PACK = load_packs()
# Those with other faults than of frames, and deaths of the client, need what is real: tests/real.
CASES = {case.id: case for case in PACK.cases if in_memory(case)}

BROKER_ROWS: dict[BrokerMutation, str] = {
    BrokerMutation.REORDERS_APPENDS: "ORD-001",
    BrokerMutation.RECEIPTS_OUT_OF_ORDER: "ORD-002",
    BrokerMutation.DEDUP_STORES_DUPLICATES: "DDP-001",
    BrokerMutation.DEDUP_RECEIPTS_UNDECIDED: "DDP-002",
    BrokerMutation.DEDUP_TELLS_NEXT_ID: "DDP-005",
    BrokerMutation.DEDUP_FORGETS_ON_LOAD: "DDP-013",
    BrokerMutation.DEDUP_FORGETS_SNAPSHOT: "DDP-013",
    BrokerMutation.DEDUP_REMEMBERS_FOR_EVER: "DDP-013",
    BrokerMutation.DEDUP_FORGETS_SILENT: "DDP-013",
    BrokerMutation.DEDUP_COUNTS_MARKERS: "DDP-015",
    BrokerMutation.DEDUP_WRITES_EVERY_NAME: "DDP-013",
    BrokerMutation.DEDUP_REFUSES_GAPS: "DDP-001",
    BrokerMutation.DEDUP_RECORDS_LOWEST: "DDP-003",
    BrokerMutation.DEDUP_COMPARES_HIGHEST: "DDP-004",
    BrokerMutation.DEDUP_CHECKS_EARLY_CHUNKS: "DDP-011",
    BrokerMutation.DEDUP_KEEPS_UNWRITTEN: "DDP-012",
    BrokerMutation.ASSIGNS_NAME_AGAIN: "PRD-004",
    BrokerMutation.EXCLUSIVE_ADMITS_SECOND_PRODUCER: "PRD-001",
    BrokerMutation.FORGETS_WAITING_PRODUCER: "PRD-001",
    BrokerMutation.LOSES_RECEIPTED_APPEND: "DLV-004",
    BrokerMutation.LOSES_CHUNK: "CHK-016",
    BrokerMutation.REDELIVERS_ACKED: "NCK-009",
    BrokerMutation.CURSOR_CLOSED_UNWRITTEN: "ACK-016",
    BrokerMutation.CURSOR_FORGETS_HOLES: "ACK-016",
    BrokerMutation.CURSOR_FILLS_HOLES: "ACK-016",
    BrokerMutation.ACKS_NAMED_MESSAGE_ONLY: "ACK-018",
    BrokerMutation.ACK_SETS_REPLACE: "ACK-018",
    BrokerMutation.REFUSES_SETTLED: "ACK-018",
    BrokerMutation.CUMULATIVE_TAKEN_ON_SHARED: "ACK-018",
    BrokerMutation.CUMULATIVE_TAKES_SEVERAL: "ACK-018",
    BrokerMutation.DISPATCH_IGNORES_RATE: "THR-001",
    BrokerMutation.DISPATCH_FORGIVES_OVERSHOOT: "THR-008",
    BrokerMutation.PUBLISH_THROTTLE_ANSWERS_ERROR: "THR-015",
    BrokerMutation.PUBLISH_THROTTLE_DROPS: "THR-015",
    BrokerMutation.BROKERS_PUBLISH_RATE_IS_IGNORED: "THR-015",
    BrokerMutation.PUBLISH_RATE_IS_HALVED: "THR-015",
    BrokerMutation.DISPATCH_HALVES_BYTES: "THR-002",
    BrokerMutation.EXCLUSIVE_ADMITS_SECOND: "SUB-001",
    BrokerMutation.FAILOVER_READS_ON: "SUB-002",
    BrokerMutation.FORGETS_OF_LEAVER: "SUB-003",
    BrokerMutation.KEY_SHARED_IGNORES_KEYS: "SUB-004",
    BrokerMutation.KEY_SHARED_DRAINS_NOTHING: "ORD-006",
    BrokerMutation.RESUBSCRIBE_STARTS_OVER: "SUB-005",
    BrokerMutation.REDELIVERY_UNCOUNTED: "NCK-011",
    BrokerMutation.DISPATCH_IGNORES_BYTES: "THR-002",
    BrokerMutation.DISPATCH_LIMITS_ARE_ALTERNATIVES: "THR-003",
    BrokerMutation.REDELIVERY_IS_FREE: "THR-009",
    BrokerMutation.READS_BEYOND_QUOTA: "THR-010",
    BrokerMutation.FLOW_COUNTS_ENTRIES: "FLW-004",
    BrokerMutation.ADMITS_SECOND_OF_A_NAME: "DDP-014",
    BrokerMutation.SILENT_HOLDER_STAYS: "DDP-014",
    BrokerMutation.STORES_FOR_UNKNOWN_PRODUCER: "ROB-007",
    BrokerMutation.LEDGER_BEGINS_ANEW: "ORD-008",
    BrokerMutation.RECEIPT_NAMES_NEXT_ENTRY: "ORD-008",
    BrokerMutation.TRANSIENT_KEEPS_MISSED: "TOP-006",
    BrokerMutation.DISPATCH_LEVELS_ARE_ALTERNATIVES: "THR-004",
    BrokerMutation.PARTITIONS_SPLIT_RATE: "THR-005",
    BrokerMutation.NAMESPACE_OVERRULES_TOPIC: "THR-006",
    BrokerMutation.PERIOD_IS_A_SECOND: "THR-007",
    BrokerMutation.FLOW_CONTROL_IS_COARSE: "THR-011",
    BrokerMutation.RATE_COUNTS_MEMBERS: "THR-012",
    BrokerMutation.THROTTLES_CAUGHT_UP: "THR-013",
    BrokerMutation.REPLAY_HAS_OWN_RATE: "THR-014",
    BrokerMutation.TRANSIENT_WAITS_FOR_RATE: "THR-018",
    BrokerMutation.READS_ON_FULL_BUFFER: "THR-016",
    BrokerMutation.READS_ON_UNWRITTEN: "THR-016",
    BrokerMutation.UNACKED_WITHOUT_LIMIT: "FLW-008",
    BrokerMutation.FLOW_LOST_WHILE_BLOCKED: "FLW-008",
    BrokerMutation.DELAY_IGNORED: "DLY-001",
    BrokerMutation.ACTIVE_WAITS_FOR_DELAY: "DLY-002",
    BrokerMutation.DELAYED_LOST_ON_LOAD: "DLY-004",
    BrokerMutation.DELETES_UNACKED: "SUB-007",
    BrokerMutation.READER_OUTLIVES_ITSELF: "SUB-006",
    BrokerMutation.TTL_IGNORED: "SUB-007",
    BrokerMutation.CRASH_LOSES_LAST_ENTRY: "TOP-001",
}

ALSO: dict[str, tuple[frozenset[str], str]] = {
    Mutation.OVERTAKES_RESEND: (frozenset({"RSD-002"}), "what overtakes a resend breaks its order and the topic's"),
    Mutation.RENUMBERS_ON_RECONNECT: (frozenset({"ORD-003"}), "ids that follow the broker's word do not step by one"),
    Mutation.IGNORES_LAST_SEQUENCE_ID: (
        frozenset({"DDP-010", "DLV-004"}),
        "ids used twice are dropped as duplicates, and lost",
    ),
    Mutation.ACKS_ON_FIRST_TOPIC: (
        frozenset({"ACK-001", "ACK-006"}),
        "where an acknowledgment was to be sent, none is",
    ),
    Mutation.SEEK_KEEPS_PREFETCH: (frozenset({"SEK-001"}), "what was left in the queue is handed out first"),
    Mutation.SEEK_KEEPS_ACKS: (frozenset({"SEK-001"}), "what a stale acknowledgment takes away does not come first"),
    Mutation.APPENDS_REPEATED_CHUNK: (
        frozenset({"ROB-008", "DLV-002", "DLV-005"}),
        "a message with a chunk too much is not the one sent",
    ),
    Mutation.ONE_CHUNK_BUFFER: (frozenset({"CHK-007"}), "a message that is discarded is not handed over either"),
    Mutation.FIRST_FLOW_TOO_LARGE: (frozenset({"FLW-003"}), "a permit too many at first is one too many ever after"),
    Mutation.LOSES_SPLIT_LENGTH: (frozenset({"ROB-009"}), "requests whose answers are thrown away do not end in time"),
    BrokerMutation.REDELIVERS_ACKED: (frozenset({"ACK-018"}), "what an ACK settled comes again"),
    BrokerMutation.ACKS_NAMED_MESSAGE_ONLY: (
        frozenset({"SUB-005"}),
        "what is settled in part is sent again to who comes back",
    ),
    BrokerMutation.CUMULATIVE_TAKEN_ON_SHARED: (
        frozenset({"SUB-003"}),
        "what is settled wrongly is out at a consumer that leaves, and goes to nobody",
    ),
    BrokerMutation.CUMULATIVE_TAKES_SEVERAL: (frozenset({"SUB-005"}), "what is settled wrongly does not come again"),
    BrokerMutation.LOSES_RECEIPTED_APPEND: (
        frozenset({"DLV-001", "DLV-008", "ORD-001"}),
        "what is lost is delivered to nobody, and the topic lacks it",
    ),
    BrokerMutation.DEDUP_STORES_DUPLICATES: (
        frozenset({"ROB-009"}),
        "receipts for nothing that is pending make the client connect again and again, and its sends never end",
    ),
    Mutation.REFUSED_RETURN_IS_FINAL: (frozenset({"RSD-001"}), "what fails with its producer is not sent again"),
    Mutation.BATCH_GOES_BY_HIGHEST_ID: (frozenset({"DDP-006"}), "a first batch does not go by the first id"),
    Mutation.OPENS_FOR_EVER: (frozenset({"ROB-009"}), "an opening that goes on does not end"),
    Mutation.RECEIPT_ENDS_ONE_CALL: (frozenset({"ROB-009"}), "the calls behind it do not end"),
    Mutation.AWAITS_OLD_BROKER: (frozenset({"ROB-009"}), "what waits for an answer that never comes does not end"),
    Mutation.EMPTY_PAYLOAD_DROPPED: (frozenset({"CMP-001"}), "an empty message that is compressed is not read either"),
    Mutation.PERMITS_TWICE: (frozenset({"ACK-012"}), "of permits too many nobody sees what they were granted for"),
    Mutation.ACKED_AGAIN_KEEPS_PERMIT: (frozenset({"FLW-006"}), "what is dropped is dropped, whatever for"),
    Mutation.BAD_BODY_KEEPS_PERMIT: (frozenset({"FLW-006"}), "what is dropped is dropped, whatever for"),
    Mutation.CORRUPT_KEEPS_PERMIT: (frozenset({"FLW-006"}), "what is dropped is dropped, whatever for"),
    Mutation.SEEKS_BESIDE_ANOTHER: (frozenset({"SEK-001"}), "a seek that is forgotten ends at another place"),
    Mutation.IGNORES_CLOSE_PRODUCER: (
        frozenset({"ROB-009"}),
        "what goes to a broker that does not listen never ends",
    ),
    BrokerMutation.FORGETS_WAITING_PRODUCER: (frozenset({"ROB-009"}), "what is never answered does not end"),
    Mutation.PENDING_OUTLIVES_CLOSE: (frozenset({"ROB-009"}), "what a close leaves pending never ends"),
    Mutation.FULL_QUEUE_STOPS_BATCH_TIMER: (frozenset({"ROB-009"}), "a batch that never leaves ends no send"),
    Mutation.BATCH_LEAVES_HALF_FULL: (frozenset({"V-10"}), "what leaves half full leaves for no reason"),
    Mutation.LARGE_BATCH_UNCOMPRESSED: (frozenset({"V-9"}), "what is not compressed saves nothing"),
    Mutation.BATCH_DELAY_UNREAD: (frozenset({"V-9"}), "a delay that nobody reads gathers nothing"),
    Mutation.NEVER_TIMES_OUT: (frozenset({"ROB-009"}), "a send that never times out never ends"),
    Mutation.SYNC_SEND_RETURNS_AT_ONCE: (
        frozenset({"ORD-004"}),
        "what returns early returns before the sends in front",
    ),
    Mutation.DELAYED_OVERTAKES_BATCH: (frozenset({"ORD-004"}), "what is sent first is receipted first"),
    Mutation.BATCH_SIZE_OF_PAYLOADS: (frozenset({"ORD-001"}), "what nobody can take apart is not on the topic"),
    Mutation.COMPRESSES_MEMBERS_TOO: (
        frozenset({"ORD-001", "DLV-002", "DLV-004"}),
        "what nobody can take apart is not on the topic",
    ),
    Mutation.KEYED_BATCH_TELLS_RANGE: (frozenset({"DLV-004"}), "what is dropped as a duplicate is reported as sent"),
    Mutation.KEYED_BATCHES_UNSORTED: (frozenset({"DLV-004"}), "what is dropped as a duplicate is reported as sent"),
    Mutation.CHUNKS_LEAK_PERMITS: (frozenset({"ROB-009"}), "what waits for room that never comes does not end"),
    Mutation.BATCH_OF_ONE_UNOPENED: (
        frozenset({"DLV-002", "DLV-005", "ROB-008"}),
        "a message with a header in front is another",
    ),
    Mutation.DEFAULT_HASH_IS_MURMUR3: (frozenset({"RTE-002"}), "the default it declares is not what it does"),
    Mutation.SNAPPY_FRAMED: (
        frozenset({"ORD-001", "CMP-003"}),
        "what nobody can decompress is not on the topic, and who hands it over hands over what is garbled",
    ),
    Mutation.OMITS_UNCOMPRESSED_SIZE: (frozenset({"ORD-001"}), "what nobody can decompress is not on the topic"),
    Mutation.WINDOW_OF_ONE_NEVER_ENDS: (frozenset({"RTE-007"}), "a window that never ends is no window"),
    Mutation.SINGLE_IGNORES_KEYS: (
        frozenset({"RTE-002", "RTE-004"}),
        "a key that is not hashed is not where its hash says",
    ),
    BrokerMutation.DISPATCH_IGNORES_RATE: (frozenset({"THR-010"}), "a rate that is not looked at sizes no read"),
    BrokerMutation.READS_BEYOND_QUOTA: (frozenset({"THR-001"}), "a read of a hundred is more than a period allows"),
    BrokerMutation.REDELIVERY_IS_FREE: (
        frozenset({"THR-001", "THR-010", "THR-014"}),
        "what is free leaves beyond the rate",
    ),
    BrokerMutation.DELETES_UNACKED: (
        frozenset({"ACK-016", "SUB-005"}),
        "what is gone is not there for who comes back",
    ),
    BrokerMutation.REPLAY_HAS_OWN_RATE: (
        frozenset({"THR-001", "THR-009"}),
        "what comes again and is charged to a rate of its own leaves beyond the one that is set",
    ),
    BrokerMutation.DISPATCH_LIMITS_ARE_ALTERNATIVES: (
        frozenset({"THR-010"}),
        "with tokens used up that do not count a read has any size",
    ),
    BrokerMutation.DEDUP_RECORDS_LOWEST: (frozenset({"DDP-005"}), "what is remembered is what a producer is told"),
    BrokerMutation.DEDUP_CHECKS_EARLY_CHUNKS: (
        frozenset({"CHK-016", "DDP-010", "DLV-004"}),
        "chunks that are dropped as duplicates take their message with them",
    ),
    BrokerMutation.DEDUP_KEEPS_UNWRITTEN: (frozenset({"ROB-009"}), "what is refused for ever never ends"),
    BrokerMutation.REORDERS_APPENDS: (frozenset({"ORD-008"}), "a receipt names the place that another message got"),
    BrokerMutation.RECEIPTS_OUT_OF_ORDER: (frozenset({"ORD-008"}), "their ids come out of order with them"),
    BrokerMutation.LEDGER_BEGINS_ANEW: (
        frozenset({"ROB-008", "ORD-001", "DLV-005"}),
        "an id that two messages have is answered with either, and says nothing of their order",
    ),
    BrokerMutation.KEY_SHARED_IGNORES_KEYS: (frozenset({"ORD-006"}), "what is not kept together is out at two"),
    BrokerMutation.CRASH_LOSES_LAST_ENTRY: (frozenset({"ACK-016", "SUB-005"}), "what is gone does not come again"),
    BrokerMutation.CURSOR_FILLS_HOLES: (frozenset({"SUB-003"}), "what is lost at a load was left behind by somebody"),
    BrokerMutation.LOSES_CHUNK: (
        frozenset({"DDP-010", "DLV-004"}),
        "a chunk that is gone takes its message, deduplicated or not",
    ),
    Mutation.IGNORES_MIGRATION: (
        frozenset({"TOP-001", "ROB-009"}),
        "who looks for a topic where it is not finds neither its messages nor an end",
    ),
    Mutation.REPEATS_CREDENTIALS: (frozenset({"ROB-009"}), "whom the broker does not know any more it does not serve"),
    Mutation.RETRIES_FENCED: (frozenset({"ROB-009"}), "what waits for a producer that never comes in does not end"),
    Mutation.RETRIES_DELETED: (frozenset({"ROB-009"}), "what waits for a producer that never comes in does not end"),
    Mutation.RETRY_LETTER_LOSES_KEYS: (frozenset({"RDL-002"}), "what a retry letter has lost its dead letter lacks"),
    Mutation.HANDS_OVER_BEYOND_MAXIMUM: (
        frozenset({"RDL-002"}),
        "what is not buried when it is due is asked for again",
    ),
    Mutation.LOSES_BEHIND_RECONNECT: (frozenset({"DLV-008"}), "what is lost is lost to those who count it, too"),
    Mutation.BLANKS_RESEND: (
        frozenset({"DLV-001", "DLV-004", "DLV-008", "ORD-001", "CMP-002"}),
        "what comes in place of a message is not the message",
    ),
    Mutation.RETURN_NAMES_NO_TOPIC: (
        frozenset({"DLV-001", "DLV-008"}),
        "a message under the name of another topic is missing where it was sent",
    ),
    Mutation.SENDS_WHAT_IT_REFUSED: (frozenset({"FLW-012"}), "what is refused because of a full queue is not sent"),
    Mutation.HANDS_OUT_ACKED_AGAIN: (
        frozenset({"ORD-005"}),
        "what comes a second time comes behind what was sent later",
    ),
    Mutation.HANDS_OVER_OLD_BYTES: (
        frozenset({"DLV-002", "ROB-008"}),
        "what is not the message that was sent does not make the round either, and no witness knows it",
    ),
    Mutation.SILENT_AFTER_RECONNECT: (frozenset({"FLW-005"}), "a consumer without permits gets nothing"),
    Mutation.DELIVERS_FRAGMENTS: (frozenset({"DLV-001"}), "what is handed over in part is not handed over"),
    BrokerMutation.PUBLISH_THROTTLE_DROPS: (
        frozenset({"DLV-004", "ORD-001"}),
        "what is dropped is not stored, whatever its receipt says",
    ),
    BrokerMutation.DELAYED_LOST_ON_LOAD: (frozenset({"DLV-001", "DLV-008"}), "what is never delivered is lost"),
}
"""Mutation -> rows it may break besides its own, and why that cannot be otherwise."""


UNBREAKABLE: dict[str, str] = {}
"""Requirement -> why no mutant can break it."""

MOST_BROKEN = 10
"""A mutant that breaks more requirements than these shows little about any of them: it is split, or dropped."""


def _row(requirement: str) -> str:
    return PACK.catalogue.requirements[requirement].row


def _cases_of(row: str) -> list[Case]:
    return [case for case in CASES.values() if any(_row(requirement) == row for requirement in case.requirements)]


@cache
def _honest(case_id: str) -> Tried:
    return ReferenceTrial().in_virtual_time(CASES[case_id])


def failed_in(tried: Tried) -> tuple[str, ...]:
    """The requirements that are broken in it."""
    return tuple(sorted({str(j.requirement) for j in tried.judgements if j.verdict in BROKEN.values()}))


def _failed_rows(tried: Tried) -> set[str]:
    return {_row(requirement) for requirement in failed_in(tried)}


@pytest.mark.parametrize("case_id", sorted(CASES))
def test_an_honest_client_passes(case_id: str) -> None:
    told = {j.requirement: (j.verdict.value, j.reason) for j in _honest(case_id).judgements}
    assert {requirement: verdict for requirement, verdict in told.items() if verdict[0] != "pass"} == {}


@cache
def tried_with(mutant: Mutation | BrokerMutation) -> tuple[Tried, ...]:
    """A mutant in every Case of the row it breaks."""
    return tuple(_trial(mutant).in_virtual_time(case) for case in _cases_of(row_of(mutant)))


def row_of(mutant: Mutation | BrokerMutation) -> str:
    return MUTATIONS[mutant].row if isinstance(mutant, Mutation) else BROKER_ROWS[mutant]


def _trial(mutant: Mutation | BrokerMutation) -> ReferenceTrial:
    if isinstance(mutant, Mutation):
        return ReferenceTrial(client=frozenset({mutant}))
    return ReferenceTrial(broker=frozenset({mutant}))


def named(mutant: Mutation | BrokerMutation) -> str:
    """The requirement that is to catch it."""
    row = row_of(mutant)
    own = sorted(str(one) for one, known in PACK.catalogue.requirements.items() if known.row == row)
    return NAMED[mutant] if mutant in NAMED else own[0]


def _assert_caught(mutant: Mutation | BrokerMutation) -> None:
    failed = {tried.case.id: failed_in(tried) for tried in tried_with(mutant)}
    requirement, row = named(mutant), row_of(mutant)
    assert any(requirement in broken for broken in failed.values()), f"{requirement} notices nothing in {failed}"
    admitted = {row} | ALSO.get(mutant, (frozenset(), ""))[0]
    assert {_row(one) for broken in failed.values() for one in broken} - admitted == set()
    # `python -m tests.exam.kill_matrix --anew` keeps what is so now.
    assert _kept()[mutant] == kill_matrix.Kill(row, failed)


@cache
def _kept() -> dict[str, kill_matrix.Kill]:
    return kill_matrix.kept()


@pytest.mark.parametrize("mutation", list(Mutation))
def test_a_client_that_breaks_a_rule_fails_its_row(mutation: Mutation) -> None:
    _assert_caught(mutation)


@pytest.mark.parametrize("mutation", list(BrokerMutation))
def test_a_broker_that_breaks_a_rule_fails_its_row(mutation: BrokerMutation) -> None:
    _assert_caught(mutation)


WIDE = (Mutation.BLANKS_RESEND,)
"""The mutants that broke most, over all Cases."""


def _in_all_cases() -> Sequence[Mutation | BrokerMutation]:
    return (*Mutation, *BrokerMutation) if NIGHTLY else WIDE


@pytest.mark.parametrize("mutant", [*Mutation, *BrokerMutation])
def test_a_mutant_breaks_few_requirements(mutant: Mutation | BrokerMutation) -> None:
    """By what is kept, which `_assert_caught` holds against what it does."""
    assert len({requirement for failed in _kept()[mutant].failed.values() for requirement in failed}) <= MOST_BROKEN


@pytest.mark.parametrize("mutant", _in_all_cases())
def test_a_mutant_breaks_few_requirements_in_all_cases_together(mutant: Mutation | BrokerMutation) -> None:
    """A few in CI, and all of them at night: they take hours."""
    broken = {one for case in CASES.values() for one in failed_in(_trial(mutant).in_virtual_time(case))}
    assert len(broken) <= MOST_BROKEN


def test_a_mutant_stands_for_every_requirement() -> None:
    """Or it is said why none does."""
    stand_for = {named(mutant) for mutant in (*Mutation, *BrokerMutation)}
    assert {str(one) for one in PACK.checks} - stand_for == set(NOT_NAMED)


def test_every_requirement_that_is_judged_is_failed_by_something() -> None:
    """Or says why nothing can break it."""
    failed = {one for kill in _kept().values() for requirements in kill.failed.values() for one in requirements}
    assert set(PACK.checks) - failed == set(UNBREAKABLE)


def test_every_mutant_is_on_the_page() -> None:
    known = {str(mutant) for mutant in (*Mutation, *BrokerMutation)}
    assert (set(kill_matrix.kept()), set(kill_matrix.found().mutants)) == (known, known)
    assert kill_matrix.PAGE.read_text("utf-8") == kill_matrix.written()
