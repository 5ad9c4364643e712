"""What a client declares of words of configuration keys, of what it lacks, and of its readers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.cases.build import Schedule
from assay_conformance.catalogue import load
from assay_conformance.model.case import Case, ClientConfig, Config
from assay_conformance.model.facts import ClientFacts, Lack
from assay_conformance.model.requirement import RequirementId

FENCING: Config = {"access_mode": "exclusive_with_fencing"}


def _facts(**words: tuple[str, ...]) -> ClientFacts:
    return ClientFacts(agent="a", client="c", client_version="1", capabilities=frozenset(), words=words)


FACTS = _facts(access_mode=("shared", "exclusive"))


def _case(config: Config, **own: Any) -> Case:
    plan = Schedule()
    plan.producer(plan.client(), **own)
    return plan.case("test/case", "t", (), producer=config)


@pytest.mark.parametrize(
    "case", [_case(FENCING), _case({}, access_mode="exclusive_with_fencing")], ids=["in the Case", "in a step"]
)
def test_a_word_that_the_client_lacks_is_found_in_a_case(case: Case) -> None:
    assert FACTS.unknown_words(case) == ("access_mode exclusive_with_fencing",)
    assert _facts().unknown_words(case) == ()


def test_words_of_other_keys_and_values_that_are_no_words_are_known() -> None:
    assert FACTS.has_words({"compression": "LZ4", "batching": True, "access_mode": "exclusive"})
    assert not FACTS.has_words({"batching": True, **FENCING})


def test_a_case_without_unknown_words_is_the_same_but_for_them() -> None:
    case = _case({**FENCING, "batching": True}, access_mode="exclusive_with_fencing", producer_name="p")
    known = FACTS.with_known_words(case)
    assert FACTS.unknown_words(known) == ()
    assert known == _case({"batching": True}, producer_name="p")


def test_a_case_of_known_words_stays_as_it_is() -> None:
    case = _case({"access_mode": "exclusive"})
    assert FACTS.with_known_words(case) is case


NAMED = ClientFacts(
    agent="a",
    client="c",
    client_version="1",
    capabilities=frozenset(),
    defaults={"receiver_queue_size": 7},
    required={
        "consumer": {"dead_letter_topic": ("max_redeliver_count",), "receiver_queue_size": ()},
        "producer": {"producer_name": ()},
    },
)


def test_what_a_client_must_be_given_beside_a_key_is_given_with_it() -> None:
    known = {"dead_letter_topic": "t-s-DLQ"}
    config = {"max_redeliver_count": 2, "receiver_queue_size": 1}
    assert NAMED.with_required("consumer", config, known) == known


def test_key_that_is_off_asks_for_nothing_beside_it() -> None:
    config = {"max_redeliver_count": 0, "receiver_queue_size": 1}
    assert NAMED.with_required("consumer", config, {"dead_letter_topic": "t-s-DLQ"}) == {}


def test_what_a_client_must_always_be_given_is_its_own_default_where_the_case_gives_none() -> None:
    assert NAMED.with_required("consumer", {}, {}) == {"receiver_queue_size": 7}


def test_what_the_case_gives_stays() -> None:
    config: Config = {"max_redeliver_count": 2, "receiver_queue_size": 1, "dead_letter_topic": "mine"}
    assert NAMED.with_required("consumer", config, {"dead_letter_topic": "t-s-DLQ"}) == {}


def _flushes(*, batching: bool) -> Case:
    plan = Schedule()
    plan.flush(plan.producer(plan.client(), batching=batching))
    return plan.case("test/flush", "t", ())


@pytest.mark.parametrize(
    ("lack", "batching", "missing"),
    [
        (Lack.FLUSH, True, True),
        (Lack.FLUSH, False, True),
        (Lack.FLUSH_WITHOUT_BATCHING, True, False),
        (Lack.FLUSH_WITHOUT_BATCHING, False, True),
    ],
)
def test_a_flush_that_the_client_lacks_is_found_in_a_case(lack: Lack, batching: bool, missing: bool) -> None:
    facts = msgspec.structs.replace(FACTS, lacks=frozenset({lack}))
    assert bool(facts.missing_assumed(_flushes(batching=batching))) is missing
    assert not facts.missing_assumed(_case({}))


def test_what_a_case_assumes_is_missing_where_the_client_lacks_it() -> None:
    facts = msgspec.structs.replace(FACTS, lacks=frozenset({Lack.BATCH_INDEX, Lack.KEY}))
    case = msgspec.structs.replace(_case({}), assumes=("batch_index", "flush"))
    assert facts.missing_assumed(case) == {"batch_index"}


@pytest.mark.parametrize(
    ("sent", "missing"),
    [
        ({"key": "k"}, {"sent_key"}),
        ({"messages": [{"properties": {"a": "b"}}, {"ordering_key": "o"}]}, {"sent_properties", "sent_ordering_key"}),
        ({"key": None, "event_time_ms": 1}, set()),
        ({}, set()),
    ],
)
def test_a_field_that_cannot_be_sent_is_found_in_what_a_case_sends(sent: dict[str, Any], missing: set[str]) -> None:
    plan = Schedule()
    plan.send(plan.producer(plan.client()), **sent)
    case = plan.case("test/case", "t", ())
    lacks = frozenset({Lack.SENT_KEY, Lack.SENT_ORDERING_KEY, Lack.SENT_PROPERTIES})
    facts = msgspec.structs.replace(FACTS, lacks=lacks)
    assert facts.missing_assumed(case) == missing
    assert not FACTS.missing_assumed(case)
    assert not facts.missing_assumed(facts.with_sendable_fields(case))
    assert facts.can_send(["event_time_ms", "size"])
    assert not facts.can_send(["key"])


@pytest.mark.parametrize(
    ("sends", "waits", "apart"),
    [
        ((1, 1), True, ()),
        ((1, 1), False, ("overlapping_sends",)),
        ((2,), True, ("overlapping_sends",)),
        ((1,), False, ()),
    ],
)
def test_sends_that_a_case_calls_together_are_not_asked_of_a_client_whose_sends_block(
    sends: tuple[int, ...], waits: bool, apart: tuple[str, ...]
) -> None:
    plan = Schedule()
    producer = plan.producer(plan.client())
    for count in sends:
        plan.send(producer, count)
        if waits:
            plan.wait_ops()
    case = plan.case("test/case", "t", ())
    facts = msgspec.structs.replace(FACTS, lacks=frozenset({Lack.OVERLAPPING_SENDS}))
    assert (facts.kept_apart(case), FACTS.kept_apart(case)) == (apart, ())


def test_sends_of_two_producers_are_no_matter_of_one_that_blocks() -> None:
    plan = Schedule()
    client = plan.client()
    for _ in range(2):
        plan.send(plan.producer(client))
    facts = msgspec.structs.replace(FACTS, lacks=frozenset({Lack.OVERLAPPING_SENDS}))
    assert facts.kept_apart(plan.case("test/case", "t", ())) == ()


def test_a_requirement_is_asked_of_clients_that_have_one_of_what_it_assumes() -> None:
    requirement = load().requirements[RequirementId("robustness.edge-case-metadata-round-trip")]
    able = msgspec.structs.replace(FACTS, capabilities=frozenset(requirement.capabilities))
    some, none = ({Lack.KEY}, {Lack.KEY, Lack.PROPERTIES, Lack.EVENT_TIME})
    assert not msgspec.structs.replace(able, lacks=frozenset(some)).missing_for(requirement)
    assert msgspec.structs.replace(able, lacks=frozenset(none)).missing_for(requirement) == none


def _consumer(config: Config, **own: Any) -> Case:
    plan = Schedule()
    plan.consumer(plan.client(), **own)
    return plan.case("test/case", "t", (), consumer=config)


NO_RECEIPTS = ClientFacts(
    agent="a",
    client="c",
    client_version="1",
    capabilities=frozenset(),
    settable=frozenset({"ack_receipt", "durable"}),
    defaults={"ack_receipt": False},
    not_of_readers=frozenset({"ack_receipt"}),
)


def test_a_key_that_readers_lack_is_missing_where_a_case_sets_it_for_a_reader() -> None:
    assert NO_RECEIPTS.missing_of_readers(_consumer({"ack_receipt": True}, durable=False)) == {"ack_receipt"}
    assert not NO_RECEIPTS.missing_of_readers(_consumer({"ack_receipt": True}))
    assert not NO_RECEIPTS.missing_of_readers(_consumer({}, durable=False))


def test_a_key_that_readers_lack_is_in_force_for_consumers_alone() -> None:
    config = ClientConfig(consumer={"ack_receipt": True})
    assert NO_RECEIPTS.in_force(config, "consumer", "ack_receipt") is True
    assert NO_RECEIPTS.in_force(config, "consumer", "ack_receipt", {"durable": False}) is False


def test_nothing_is_left_of_a_case_without_the_credentials_that_it_sets() -> None:
    plan = Schedule()
    plan.client()
    case = plan.case("test/case", "t", (), client={"tokens": "first", "io_threads": 2})
    assert _facts().missing_keys(case) == ("tokens",)
    assert msgspec.structs.replace(FACTS, settable=frozenset({"tokens"})).missing_keys(case) == ()
    assert msgspec.structs.replace(FACTS, fixed={"tokens": "first"}).missing_keys(case) == ()
