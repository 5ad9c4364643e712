import msgspec
import pytest

from assay_conformance.checks.throttling import (
    ByteRateHolds,
    DispatchRateHolds,
    PublishRateHolds,
    RatesHoldTogether,
    ReadsWithinQuota,
    RedeliveredCountAgain,
    RepaysOvershoot,
)
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import DUPLICATE, Script
from assay_conformance.model.case import Case, Rate, Step, Topic, Topology, Who
from assay_conformance.model.policy import BrokerSettings


def _case(**topic: Rate | bool) -> Case:
    return msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", **topic),)))  # type: ignore[arg-type]


DISPATCH = _case(dispatch_rate=Rate(messages=10))
PUBLISH = _case(publish_rate=Rate(messages=10))


def _codes(check: object) -> list[str]:
    return [finding.code for finding in check.findings]  # type: ignore[attr-defined]


def _dispatched(*reads: tuple[int, int], batch: int = 1) -> list:  # type: ignore[type-arg]
    """Events of reads (time in ms, entries), each entry with `batch` messages."""
    story = Script()
    story.consumer()
    number = 0
    for at_ms, entries in reads:
        story.at(at_ms)
        for _ in range(entries):
            story.message(*range(number, number + batch), entry=number)
            number += batch
    return story.done()


def test_dispatch_at_the_rate_is_accepted() -> None:
    check = trial(DispatchRateHolds, _dispatched((100, 10), (1100, 10), (2100, 10)), DISPATCH)
    assert (check.findings, check.exercised) == ([], 20)


def test_dispatch_that_ignores_the_rate_is_found() -> None:
    assert _codes(trial(DispatchRateHolds, _dispatched((100, 60)), DISPATCH)) == ["too-fast"]


def test_dispatch_that_creeps_beyond_the_rate_is_found() -> None:
    reads = [(100 + 1000 * period, 15) for period in range(12)]
    assert _codes(trial(DispatchRateHolds, _dispatched(*reads), DISPATCH)) == ["too-fast"]


def test_one_read_may_overdraw_by_its_batches() -> None:
    assert _codes(trial(DispatchRateHolds, _dispatched((100, 10), batch=6), DISPATCH)) == []


def test_subscription_rate_counts_that_subscription() -> None:
    case = _case(subscription_rate=Rate(messages=10))
    assert _codes(trial(DispatchRateHolds, _dispatched((100, 60)), case)) == ["too-fast"]


def test_rate_changed_by_a_step_is_not_judged() -> None:
    change = Step(Who.BROKER, "set_policy", {"topic": "t", "dispatch_rate": {"messages": 0}})
    case = msgspec.structs.replace(DISPATCH, steps=(change,))
    assert trial(DispatchRateHolds, _dispatched((100, 60)), case).exercised == 0


@pytest.mark.parametrize("suffered", [{"loop_lag_ms": 300}, {"broker_wait_ms": 300}, {"others": 1}], ids=str)
def test_rate_of_a_broker_that_is_not_left_alone_is_undecided(suffered: dict[str, int]) -> None:
    """The bench stalls, the broker does, or it has other Cases to serve."""
    events = _dispatched((100, 60))
    story = Script()
    story.events = events[:-1]
    story.after(1).load(500, **suffered)
    check = trial(DispatchRateHolds, story.done(), DISPATCH)
    assert (_codes(check), bool(check.undecided_because)) == ([], True)


def test_overshoot_that_is_repaid_is_accepted() -> None:
    check = trial(RepaysOvershoot, _dispatched((100, 1), (3100, 1), batch=30), DISPATCH)
    assert (check.findings, check.exercised) == ([], 1)


def test_overshoot_repaid_from_the_earliest_period_on_is_accepted() -> None:
    assert _codes(trial(RepaysOvershoot, _dispatched((100, 1), (2110, 1), batch=30), DISPATCH)) == []


def test_what_flowed_in_before_a_read_and_was_added_after_it_pays_too() -> None:
    """A bucket that was made 0.9 periods before the read holds 16 tokens more when it is asked 0.75 periods later."""
    assert _codes(trial(RepaysOvershoot, _dispatched((100, 1), (850, 1), batch=25), DISPATCH)) == []


def test_overshoot_that_is_forgiven_is_found() -> None:
    assert _codes(trial(RepaysOvershoot, _dispatched((100, 1), (1100, 1), batch=40), DISPATCH)) == ["not-repaid"]


def test_reads_within_the_rate_repay_nothing() -> None:
    check = trial(RepaysOvershoot, _dispatched(*((100 * n, 1) for n in range(1, 9))), DISPATCH)
    assert (check.findings, check.exercised) == ([], 0)


# --- bytes, both together, again, and single reads -------------------------------------------------------------------

BYTES = _case(dispatch_rate=Rate(bytes=1_000))
BOTH = _case(dispatch_rate=Rate(messages=10, bytes=1_000))


def _read_at(*reads: tuple[int, int], size: int = 100, again: bool = False) -> list:  # type: ignore[type-arg]
    """Events of reads (time in ms, entries) of entries of so many bytes; `again`: always the same ones."""
    story = Script()
    for number in range(100):
        story.stored(number, size=size)
    story.consumer()
    number = 0
    for at_ms, entries in reads:
        story.at(at_ms)
        number = 0 if again else number
        for _ in range(entries):
            story.message(number)
            number += 1
    return story.done()


def test_bytes_at_the_rate_are_accepted() -> None:
    check = trial(ByteRateHolds, _read_at((300, 10), (1300, 10), (2300, 10)), BYTES)
    assert (check.findings, check.exercised) == ([], 20)


def test_entry_larger_than_the_byte_rate_may_pass() -> None:
    assert _codes(trial(ByteRateHolds, _read_at((300, 1), size=5_000), BYTES)) == []


def test_bytes_beyond_the_rate_are_found() -> None:
    assert _codes(trial(ByteRateHolds, _read_at((300, 40)), BYTES)) == ["too-fast"]


def _large_among_small(*, small: int) -> list:  # type: ignore[type-arg]
    """Three entries of 2,500 bytes leave at once; the topic holds others, of `small` bytes."""
    story = Script()
    for number in range(23):
        story.stored(number, size=small if number < 20 else 2_500)
    story.consumer()
    story.at(300)
    for number in range(20, 23):
        story.message(number)
    return story.done()


def test_large_entries_are_read_by_what_the_average_makes_of_the_bytes() -> None:
    assert _codes(trial(ByteRateHolds, _large_among_small(small=64), BYTES)) == []


def test_large_entries_that_no_average_lets_through_together_are_found() -> None:
    assert _codes(trial(ByteRateHolds, _large_among_small(small=1_000), BYTES)) == ["too-fast"]


def test_byte_rate_says_nothing_of_a_topic_with_a_message_rate() -> None:
    assert trial(ByteRateHolds, _read_at((300, 40)), BOTH).exercised == 0


def test_both_rates_kept_are_accepted() -> None:
    assert _codes(trial(RatesHoldTogether, _read_at((300, 10), (1300, 10)), BOTH)) == []


@pytest.mark.parametrize(("entries", "size"), [(40, 1), (8, 1_000)], ids=["messages", "bytes"])
def test_either_rate_alone_is_held_to(entries: int, size: int) -> None:
    assert _codes(trial(RatesHoldTogether, _read_at((300, entries), size=size), BOTH)) == ["too-fast"]


def test_redelivered_messages_within_the_rate_are_accepted() -> None:
    check = trial(RedeliveredCountAgain, _read_at((300, 10), (1300, 10), again=True), DISPATCH)
    assert (check.findings, check.exercised) == ([], 10)


def test_redelivered_messages_beyond_the_rate_are_found() -> None:
    events = _read_at(*((300 + 20 * round, 10) for round in range(6)), again=True)
    assert _codes(trial(RedeliveredCountAgain, events, DISPATCH)) == ["too-fast"]


def test_new_messages_beyond_the_rate_are_no_matter_of_redelivery() -> None:
    assert trial(RedeliveredCountAgain, _read_at((300, 60)), DISPATCH).exercised == 0


def test_reads_of_the_tokens_left_are_accepted() -> None:
    check = trial(ReadsWithinQuota, _read_at((300, 10), (1300, 10)), DISPATCH)
    assert (check.findings, check.exercised) == ([], 2)


def test_read_of_everything_there_are_permits_for_is_found() -> None:
    assert _codes(trial(ReadsWithinQuota, _read_at((300, 60)), DISPATCH)) == ["read-too-large"]


def test_rate_that_counts_entries_is_judged_by_entries() -> None:
    case = msgspec.structs.replace(
        DISPATCH, topology=msgspec.structs.replace(DISPATCH.topology, settings=BrokerSettings(rate_counts_entries=True))
    )
    assert _codes(trial(DispatchRateHolds, _dispatched((100, 10), (1100, 10), (2100, 10), batch=20), case)) == []


def test_broker_that_spares_who_is_not_behind_is_not_judged() -> None:
    spared = BrokerSettings(throttles_caught_up=False)
    case = msgspec.structs.replace(DISPATCH, topology=msgspec.structs.replace(DISPATCH.topology, settings=spared))
    assert trial(DispatchRateHolds, _dispatched((100, 60)), case).exercised == 0


# --- publish-rate-holds -----------------------------------------------------------------------------------------------


def _published(*stored_ms: int, ok: int | None = None, size: int = 64 * 1024) -> Script:
    story = Script()
    story.producer()
    count = len(stored_ms) if ok is None else ok
    for number in range(count):
        story.send(number)
        story.send_frame(number)
    for number, at_ms in enumerate(stored_ms):
        story.at(at_ms).stored(number, size=size)
    for number in range(count):
        story.receipt(number)
        story.ok(number)
    story.read_back()
    return story


def test_publishing_slowed_to_the_rate_is_accepted() -> None:
    story = _published(*range(100, 110), *(200 + 100 * n for n in range(10)))
    check = trial(PublishRateHolds, story.done(), PUBLISH)
    assert (check.findings, check.exercised) == ([], 10)


def test_publishing_beyond_the_rate_is_found() -> None:
    assert _codes(trial(PublishRateHolds, _published(*range(100, 160)).done(), PUBLISH)) == ["too-fast"]


OF_BROKER = msgspec.structs.replace(
    ANY_CASE, topology=Topology(topics=(Topic(name="t"),), settings=BrokerSettings(publish_rate=Rate(messages=10)))
)


def test_publishing_slowed_to_the_brokers_rate_is_accepted() -> None:
    story = _published(*range(100, 110), *(200 + 100 * n for n in range(10)))
    check = trial(PublishRateHolds, story.done(), OF_BROKER)
    assert (check.findings, check.exercised) == ([], 10)


def test_publishing_beyond_the_brokers_rate_is_found() -> None:
    check = trial(PublishRateHolds, _published(*range(100, 160)).done(), OF_BROKER)
    assert _codes(check) == ["too-fast"]
    assert check.findings[0].sentence.startswith("the broker has a publish rate of 10 messages per 1 s")


@pytest.mark.parametrize(("case", "at_once"), [(ANY_CASE, True), (PUBLISH, False), (OF_BROKER, False)])
def test_what_is_written_under_a_publish_rate_is_not_read_at_once(case: Case, at_once: bool) -> None:
    assert trial(PublishRateHolds, Script().done(), case).view.is_read_at_once() is at_once


def test_which_broker_has_a_topic_is_not_known_where_there_are_several() -> None:
    two = msgspec.structs.replace(OF_BROKER, topology=msgspec.structs.replace(OF_BROKER.topology, brokers=2))
    assert _codes(trial(PublishRateHolds, _published(*range(100, 160)).done(), two)) == []


def _every(gap_ms: int, until_ms: int) -> Script:
    """A full bucket at once, and then one after the other."""
    return _published(*range(100, 110), *range(200, until_ms, gap_ms), size=1_000)


def test_publishing_at_the_rate_for_ten_periods_is_accepted() -> None:
    assert _codes(trial(PublishRateHolds, _every(108, 12_000).done(), PUBLISH)) == []


def test_publishing_slowed_beyond_the_rate_is_starved() -> None:
    assert _codes(trial(PublishRateHolds, _every(120, 12_000).done(), PUBLISH)) == ["starved"]


def test_nine_periods_tell_nothing_of_publishing_from_below() -> None:
    assert _codes(trial(PublishRateHolds, _every(200, 10_000).done(), PUBLISH)) == []


def test_who_has_nothing_to_send_is_not_starved() -> None:
    story = Script()
    story.producer()
    for number in range(30):
        story.at(500 * number).send(number)
        story.send_frame(number)
        story.stored(number)
        story.receipt(number)
        story.ok(number)
    story.read_back()
    assert _codes(trial(PublishRateHolds, story.done(), PUBLISH)) == []


def test_throttled_message_that_is_lost_is_found() -> None:
    assert _codes(trial(PublishRateHolds, _published(100, 200, ok=3).done(), PUBLISH)) == ["lost"]


def test_message_under_an_id_that_another_had_is_not_lost_by_the_rate() -> None:
    story = Script()
    story.producer()
    for number in range(2):
        story.send(number)
        story.send_frame(number, sequence_id=0)
    story.stored(0)
    story.ok(0)
    story.ok(1)
    story.read_back()
    assert _codes(trial(PublishRateHolds, story.done(), PUBLISH)) == []


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("deduplication", "codes"), [(True, []), (False, ["lost"])])
def test_message_that_is_taken_for_a_duplicate_is_not_lost_by_the_rate(
    deduplication: bool, codes: list[str], told: bool
) -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    if not told:
        story.receipt(0, id=DUPLICATE)
    story.ok(0, message_id=DUPLICATE if told else None)
    story.read_back()
    case = _case(publish_rate=Rate(messages=10), deduplication=deduplication)
    assert _codes(trial(PublishRateHolds, story.done(), case)) == codes


def test_throttled_messages_that_change_order_are_found() -> None:
    story = Script()
    story.producer()
    for number in range(2):
        story.send(number)
    story.stored(1)
    story.stored(0)
    assert _codes(trial(PublishRateHolds, story.done(), PUBLISH)) == ["reordered"]


def test_throttled_message_answered_with_error_is_found() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "TooManyRequests"})
    assert _codes(trial(PublishRateHolds, story.done(), PUBLISH)) == ["answered-with-error"]


def test_error_with_a_cause_of_its_own_is_accepted() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
    assert _codes(trial(PublishRateHolds, story.done(), PUBLISH)) == []
