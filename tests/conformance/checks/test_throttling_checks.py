import msgspec

from assay_conformance.checks.throttling import DispatchRateHolds, PublishRateHolds, RepaysOvershoot
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, Rate, Step, Topic, Topology, Who


def _case(**topic: Rate) -> Case:
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


def test_rate_on_a_stalled_bench_is_undecided() -> None:
    events = _dispatched((100, 60))
    story = Script()
    story.events = events[:-1]
    story.after(1).load(500, loop_lag_ms=300)
    check = trial(DispatchRateHolds, story.done(), DISPATCH)
    assert (_codes(check), bool(check.undecided_because)) == ([], True)


def test_overshoot_that_is_repaid_is_accepted() -> None:
    check = trial(RepaysOvershoot, _dispatched((100, 1), (3100, 1), batch=30), DISPATCH)
    assert (check.findings, check.exercised) == ([], 1)


def test_overshoot_repaid_from_the_earliest_period_on_is_accepted() -> None:
    assert _codes(trial(RepaysOvershoot, _dispatched((100, 1), (2110, 1), batch=30), DISPATCH)) == []


def test_overshoot_that_is_forgiven_is_found() -> None:
    assert _codes(trial(RepaysOvershoot, _dispatched((100, 1), (1100, 1), batch=30), DISPATCH)) == ["not-repaid"]


def test_reads_within_the_rate_repay_nothing() -> None:
    check = trial(RepaysOvershoot, _dispatched(*((100 * n, 1) for n in range(1, 9))), DISPATCH)
    assert (check.findings, check.exercised) == ([], 0)


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


def test_throttled_message_that_is_lost_is_found() -> None:
    assert _codes(trial(PublishRateHolds, _published(100, 200, ok=3).done(), PUBLISH)) == ["lost"]


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
