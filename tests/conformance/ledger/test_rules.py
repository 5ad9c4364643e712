"""Each rule is kept by the ledger that keeps it, and broken by the one that breaks it, and by no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assay_conformance.catalogue import load
from assay_conformance.ledger import clauses
from assay_conformance.ledger.collection import Rows, flagged, sums
from assay_conformance.ledger.info import Acking, Acks, Order, Origin
from assay_conformance.ledger.judge import judge_rows, judged
from assay_conformance.ledger.lives import Evidence
from assay_conformance.ledger.rows import Stream, Topic, Writer
from assay_conformance.ledger.rules.base import Rule
from assay_conformance.ledger.script import Script, Written, some_info
from assay_conformance.ledger.tables import ANY_HELD, NONE, AckKind, Integrity, Result
from assay_conformance.ledger.words import fold

GRACE_MS = 10_000
Story = Callable[[Script], None]


def found(ledger: Written) -> dict[str, list[str]]:
    """requirement -> codes of its breaches."""
    rules = judged(Evidence(*ledger))
    return {rule.requirement: [breach.code for breach in rule.breaches] for rule in rules if rule.count}


def rule_of(ledger: Written, requirement: str) -> Rule:
    return next(rule for rule in judged(Evidence(*ledger)) if rule.requirement == requirement)


def written(story: Story, *, order: Order = Order.PARTITION, **sub: Any) -> Written:
    """A ledger of one subscription with these columns, on a topic that was read back."""
    script = Script(some_info(order=order))
    script.topic(read_back=1)
    script.sub(**sub)
    story(script)
    return script.done()


# --- good stories ---


def plain(s: Script) -> None:
    s.sent(*range(70))
    s.got(*range(70))


def failed_and_unknown(s: Script) -> None:
    s.sent(0, 3)
    s.sent(1, code=Result.FAIL)
    s.sent(2, 4, code=Result.UNKNOWN)
    s.stored(4)
    s.got(0, 3, 4)


def sent_again(s: Script) -> None:
    s.sent(0, code=Result.FAIL)
    s.sent(1)
    s.sent(0, attempt=1, entry=2)
    s.got(1)
    s.got(0, entry=2)


def refused(s: Script) -> None:
    s.sent(0)
    s.got(0, ack=False)
    s.nacked(0)
    s.at(2_000).got(0, redeliv=1)


def cut(s: Script) -> None:
    s.sent(0, 1)
    s.got(0, 1, ack=False)
    s.epoch(100, 200, "cut")
    s.at(300).got(0, 1)


def handed_on(s: Script) -> None:
    s.consumers[0] = s.consumers[0]._replace(t_to=5_000_000)
    s.consumer(t_from=4_000_000)
    s.sent(0, 1)
    s.got(0, 1, ack=False)
    s.at(6_000).got(0, 1, consumer=1, redeliv=1)


def restarted(s: Script) -> None:
    s.sent(0, 1)
    s.got(0)
    s.got(1, ack=False)
    s.epoch(9_000, 9_500, restart=1)
    s.at(10_000).got(1)


def never_acknowledging(s: Script) -> None:
    s.sent(0, 1)
    s.got(0, 1, ack=False)


def delayed(s: Script) -> None:
    s.sent(0, deliver_at=3_000_000)
    s.at(3_001).got(0)


def in_chunks(s: Script) -> None:
    s.sent(0, stored=False)
    s.stored(0, chunks=3, chunk=0)
    s.stored(0, chunks=3, chunk=1, entry=1)
    s.stored(0, chunks=3, chunk=2, entry=2)
    s.got(0)


def two_consumers(s: Script) -> None:
    """Both were there long before."""
    s.consumer()
    s.consumers = [row._replace(t_from=-GRACE_MS * 2_000) for row in s.consumers]


def a_key_handed_on_late(s: Script) -> None:
    two_consumers(s)
    s.sent(0, 1, 2, key=1)
    s.got(0, 1)
    s.got(2, consumer=1)


def a_key_that_moves_when_somebody_comes(s: Script) -> None:
    two_consumers(s)
    s.consumer(t_from=2_000)
    s.sent(0, 1, 2, key=1)
    s.got(0)
    s.got(1, consumer=1)
    s.got(2)


def a_key_taken_over(s: Script) -> None:
    """Its first consumer leaves without having said anything of its last two messages."""
    two_consumers(s)
    s.sent(0, 1, 2, 3, key=1)
    s.got(0)
    s.got(1, 2, ack=False)
    s.consumers[0] = s.consumers[0]._replace(t_to=8_000)
    s.at(9).got(1, 2, redeliv=1, consumer=1)
    s.got(3, consumer=1)


def a_refused_message_of_a_key_taken_over(s: Script) -> None:
    two_consumers(s)
    s.sent(0, 1, 2, key=1)
    s.got(0)
    s.got(1, ack=False)
    s.nacked(1)
    s.consumers[0] = s.consumers[0]._replace(t_to=8_000)
    s.at(9).got(2, consumer=1)
    s.at(200).got(1, redeliv=1, consumer=1)


def a_delayed_message_of_a_key(s: Script) -> None:
    s.sent(0, key=1, deliver_at=50_000)
    s.sent(1, key=1)
    s.got(1)
    s.at(60).got(0)


def forgotten_by_a_broker_that_was_killed(s: Script) -> None:
    """The next consumer has got later ones before the broker forgets what the first one had acknowledged."""
    two_consumers(s)
    s.sent(0, 1, 2, key=1)
    s.got(0, 1)
    s.consumers[0] = s.consumers[0]._replace(t_to=8_000)
    s.at(9).got(2, consumer=1)
    s.epoch(20, 30, restart=1)
    s.at(40).got(1, 2, consumer=1)


SHARED: dict[str, Any] = {"type": "Shared", "nack_delay": 1_000_000}
KEYED: dict[str, Any] = {"type": "Key_Shared"}
GOOD: list[tuple[Story, dict[str, Any]]] = [
    (plain, {}),
    (failed_and_unknown, {}),
    (sent_again, {}),
    (refused, SHARED),
    (cut, {}),
    (handed_on, {"type": "Failover"}),
    (handed_on, SHARED),
    (restarted, {}),
    (never_acknowledging, {}),
    (delayed, SHARED),
    (in_chunks, {}),
    (sent_again, SHARED),
    (a_key_handed_on_late, KEYED),
    (a_key_that_moves_when_somebody_comes, KEYED),
    (a_key_taken_over, KEYED),
    (a_refused_message_of_a_key_taken_over, KEYED),
    (a_delayed_message_of_a_key, KEYED),
    (forgotten_by_a_broker_that_was_killed, KEYED),
    (forgotten_by_a_broker_that_was_killed, {"type": "Failover"}),
]


@pytest.mark.parametrize(("story", "sub"), GOOD, ids=lambda value: getattr(value, "__name__", ""))
def test_nothing_is_found_where_nothing_is_wrong(story: Story, sub: dict[str, Any]) -> None:
    assert found(written(story, **sub)) == {}


# --- bad stories ---


def lost(s: Script) -> None:
    s.sent(0, 1, 2)
    s.got(0, 2)


def invented(s: Script) -> None:
    s.sent(0)
    s.got(0, 9)


def stored_unasked(s: Script) -> None:
    s.sent(0)
    s.stored(9)
    s.got(0)


def failed_stored(s: Script) -> None:
    s.sent(0, code=Result.FAIL)
    s.stored(0)


def failed_delivered(s: Script) -> None:
    s.sent(0, code=Result.FAIL)
    s.got(0)


def ok_unstored(s: Script) -> None:
    s.sent(0, stored=False)
    s.got(0)


def corrupt(s: Script) -> None:
    s.sent(0)
    s.got(0, ok=Integrity.BAD)


def unasked(s: Script) -> None:
    s.sent(0)
    s.got(0, ack=False)
    s.at(500).got(0)


def twice_unasked_elsewhere(s: Script) -> None:
    two_consumers(s)
    s.sent(0)
    s.got(0, ack=False)
    s.at(500).got(0, consumer=1)


def too_often(s: Script) -> None:
    s.sent(0)
    s.got(0, ack=False)
    s.nacked(0)
    s.at(2_000).got(0, redeliv=9)


def stored_twice(s: Script) -> None:
    s.topic(dedup=1)
    s.sent(0)
    s.stored(0, entry=5)
    s.got(0)


def disorder(s: Script) -> None:
    s.sent(0, 1, 2)
    s.got(0, 2, 1)


def stored_disorder(s: Script) -> None:
    s.sent(0, entry=5)
    s.sent(1, entry=4)
    s.got(0, entry=5)
    s.got(1, entry=4)


def stored_behind_later(s: Script) -> None:
    s.sent(0, 1, stored=False)
    s.stored(0, entry=5)
    s.stored(1, entry=4)
    s.got(0, 1)


def told_in_the_order_they_were_stored(s: Script) -> None:
    s.sent(1, entry=4)
    s.sent(0, entry=5)
    s.got(0, entry=5)
    s.got(1, entry=4)


def key_disorder(s: Script) -> None:
    s.sent(0, 1, 2, key=1)
    s.got(0, 2, 1)


def a_key_at_two_consumers(s: Script) -> None:
    two_consumers(s)
    s.sent(0, 1, 2, key=1)
    s.got(0)
    s.got(1, consumer=1)
    s.got(2)


def a_key_overtaken_by_who_came(s: Script) -> None:
    """The second consumer gets a message of the key while an earlier one waits with the first."""
    s.consumer(t_from=4_000)
    s.sent(0, 1, 2, key=1)
    s.got(0)
    s.at(10).got(2, consumer=1)
    s.got(1)


def a_key_left_behind_comes_late(s: Script) -> None:
    two_consumers(s)
    s.sent(0, 1, 2, key=1)
    s.got(0)
    s.got(1, ack=False)
    s.consumers[0] = s.consumers[0]._replace(t_to=8_000)
    s.at(9).got(2, consumer=1)
    s.got(1, redeliv=1, consumer=1)


def incomplete(s: Script) -> None:
    s.sent(0, stored=False)
    s.stored(0, chunks=3, chunk=0)
    s.stored(0, chunks=3, chunk=2, entry=2)
    s.got(0)


def outlived(s: Script) -> None:
    s.sent(0)
    s.got(0)
    s.epoch(9_000, 9_500, restart=1)
    s.at(10_000).got(0)


def acked_again(s: Script) -> None:
    s.sent(0)
    s.got(0)
    s.at(9_000).got(0, redeliv=1)


def forgotten(s: Script) -> None:
    s.consumers[0] = s.consumers[0]._replace(t_to=5_000_000)
    s.consumer(t_from=4_000_000)
    s.sent(0, 1)
    s.got(0)
    s.got(1, ack=False)


def at_once(s: Script) -> None:
    s.sent(0)
    s.got(0, ack=False)
    s.nacked(0)
    s.at(50).got(0, redeliv=1)


def too_early(s: Script) -> None:
    s.sent(0)
    s.got(0, ack=False)
    s.nacked(0)
    s.at(700).got(0, redeliv=1)


def never_again(s: Script) -> None:
    s.sent(0)
    s.got(0, ack=False)
    s.nacked(0)


def not_counted(s: Script) -> None:
    s.sent(0)
    s.got(0, ack=False)
    s.nacked(0)
    s.at(2_000).got(0)


def before_time(s: Script) -> None:
    s.sent(0, deliver_at=3_000_000)
    s.at(2_000).got(0)


def stalled(s: Script) -> None:
    s.epoch(1_000, 2_000, "cut")
    s.at(2_500).sent(*range(50))
    s.at(30_000).got(*range(50))


def dispatched_too_fast(s: Script) -> None:
    for second in range(12):
        s.at(second * 1_000).sent(*range(second * 300, second * 300 + 300))
        s.at(second * 1_000).got(*range(second * 300, second * 300 + 300))


def published_too_fast(s: Script) -> None:
    s.topic(publish_rate=10)
    for second in range(12):
        s.at(second * 1_000).sent(*range(second * 400, second * 400 + 400))
    s.got(*range(12 * 400))


BAD: list[tuple[Story, dict[str, Any], dict[str, list[str]]]] = [
    (lost, {}, {clauses.LOST: ["lost"]}),
    (invented, SHARED, {clauses.INVENTED: ["never-sent"]}),
    (stored_unasked, {}, {clauses.INVENTED: ["stored-unasked"]}),
    (failed_stored, {}, {clauses.FAILED: ["stored-though-failed"]}),
    (failed_delivered, {}, {clauses.FAILED: ["delivered-though-failed"]}),
    (ok_unstored, {}, {clauses.STORED_OK: ["not-stored"]}),
    (corrupt, {}, {clauses.AS_SENT: ["changed"]}),
    (unasked, {}, {clauses.CONTRACT: ["unasked"]}),
    (unasked, SHARED, {clauses.CONTRACT: ["unasked"]}),
    (twice_unasked_elsewhere, SHARED, {clauses.CONTRACT: ["unasked"]}),
    (too_often, {**SHARED, "max_redeliv": 3}, {clauses.CONTRACT: ["too-often"]}),
    (stored_twice, {}, {clauses.DEDUP: ["stored-twice"]}),
    (disorder, {}, {clauses.ORDER: ["delivered-out-of-order"]}),
    (stored_disorder, {}, {clauses.ORDER: ["stored-out-of-order"]}),
    (told_in_the_order_they_were_stored, {}, {clauses.ORDER: ["stored-out-of-order"]}),
    (stored_behind_later, SHARED, {clauses.ORDER: ["stored-behind-later"]}),
    (key_disorder, KEYED, {clauses.KEY_ORDER: ["key-out-of-order"]}),
    (a_key_overtaken_by_who_came, KEYED, {clauses.KEY_ORDER: ["key-overtaken"]}),
    (a_key_left_behind_comes_late, KEYED, {clauses.KEY_ORDER: ["key-out-of-order"]}),
    (a_key_at_two_consumers, KEYED, {clauses.KEEPS_KEYS: ["key-at-two-consumers"]}),
    (incomplete, {}, {clauses.CHUNKS: ["delivered-incomplete"]}),
    (outlived, {}, {clauses.SURVIVES: ["came-again"]}),
    (acked_again, SHARED, {clauses.ENDS: ["came-again"], clauses.CONTRACT: ["unasked"]}),
    (forgotten, {"type": "Failover"}, {clauses.KEEPS: ["forgotten"]}),
    (at_once, SHARED, {clauses.LEAST: ["at-once"], clauses.WINDOW: ["too-early"]}),
    (too_early, SHARED, {clauses.WINDOW: ["too-early"]}),
    (never_again, SHARED, {clauses.WINDOW: ["never-again"]}),
    (not_counted, SHARED, {clauses.COUNTED: ["not-counted"]}),
    (before_time, SHARED, {clauses.DUE: ["early"]}),
    (stalled, {}, {clauses.FLOWS: ["stalled"]}),
    (dispatched_too_fast, {"dispatch_rate": 10}, {clauses.DISPATCH: ["too-fast"]}),
    (published_too_fast, {}, {clauses.PUBLISH: ["too-fast"]}),
]


@pytest.mark.parametrize(("story", "sub", "codes"), BAD, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_wrong_is_found_and_nothing_else(
    story: Story, sub: dict[str, Any], codes: dict[str, list[str]]
) -> None:
    assert found(written(story, **sub)) == codes


@pytest.mark.parametrize(("story", "sub", "codes"), BAD, ids=lambda value: getattr(value, "__name__", ""))
def test_the_flagged_buckets_alone_bring_the_same_findings(
    story: Story, sub: dict[str, Any], codes: dict[str, list[str]]
) -> None:
    ledger = written(story, **sub)
    buckets = flagged(fold(row for table in ledger.rows for row in table), ledger.small, ledger.info)
    places = {(bucket.stream, bucket.b) for bucket in buckets} | ({(0, 0)} if clauses.CHUNKS in codes else set())
    tables: list[Any] = [tuple(row for row in table if (row.stream, row.seq >> 6) in places) for table in ledger.rows]
    picked = Rows(*tables)
    assert found(ledger._replace(rows=picked)) == codes


# --- what cannot be read ---

SHOWN = {clauses.AS_SENT: ["changed"], clauses.DUE: ["early"], clauses.CONTRACT: ["too-often"]}
"""Whatever stands in rows that are missing, these are seen in rows that are there."""


def with_a_hole(ledger: Written, writer: int) -> Written:
    """Rows of this writer are missing; -1: of anybody."""
    known = Writer(writer, "w", held=ANY_HELD)
    return ledger._replace(small=ledger.small._replace(writers={**ledger.small.writers, writer: known}))


@pytest.mark.parametrize(("story", "sub", "codes"), BAD, ids=lambda value: getattr(value, "__name__", ""))
def test_what_a_missing_row_may_explain_is_nobodys_fault(
    story: Story, sub: dict[str, Any], codes: dict[str, list[str]]
) -> None:
    ledger = with_a_hole(written(story, **sub), NONE)
    assert found(ledger) == {one: told for one, told in codes.items() if SHOWN.get(one) == told}
    assert "pass" not in {row.verdict.value for row in judge_rows(*ledger, load())}


@pytest.mark.parametrize(
    ("writer", "fails"), [(0, True), (1, True), (2, False), (3, False)], ids=["p0", "c0", "mine", "its consumer's"]
)
def test_what_a_writer_of_others_may_have_written_explains_nothing(writer: int, fails: bool) -> None:
    script = Script()
    script.sub("others", topics="7")
    script.streams.append(Stream(1, "p1", 1, 0))
    script.topics.append(Topic(1, "elsewhere"))
    script.streams[0] = Stream(0, "p", 0, 2)
    script.writers += [Writer(2, "mine"), Writer(3, "its consumer's")]
    script.consumer(script.sub(), writer=3)
    script.consumers[1] = script.consumers[1]._replace(writer=3)
    script.sent(0, 1, 2)
    script.got(0, 2, consumer=1)
    assert (clauses.LOST in found(with_a_hole(script.done(), writer))) is fails


# --- how applications acknowledged ---


@pytest.mark.parametrize(("mode", "verdict"), [("individual", "fail"), ("cumulative", "inconclusive")])
def test_in_logs_a_cumulative_acknowledgment_may_have_ended_what_was_refused(mode: str, verdict: str) -> None:
    script = Script(some_info(origin=Origin.MAPPED, acking=Acking(Acks(mode))))
    script.sub(**SHARED)
    never_again(script)
    assert verdict_of(script.done(), clauses.WINDOW) == verdict


@pytest.mark.parametrize(
    ("origin", "mode", "means"),
    [
        (Origin.MAPPED, Acks.INDIVIDUAL, True),
        (Origin.MAPPED, Acks.CUMULATIVE, False),
        (Origin.MAPPED, Acks.BOTH, False),
        (Origin.SEGMENTS, Acks.CUMULATIVE, True),
    ],
)
def test_a_hole_in_acknowledgments_means_something_where_each_is_told(origin: Origin, mode: Acks, means: bool) -> None:
    script = Script(some_info(origin=origin, acking=Acking(mode)))
    script.sub(type="Failover")
    forgotten(script)
    assert (clauses.KEEPS in found(script.done())) is means


# --- what else a rule has to know ---


def test_order_is_judged_where_nothing_but_the_log_is_known() -> None:
    script = Script()
    script.stored(0, entry=5)
    script.stored(1, entry=4)
    rows = Rows(stored=tuple(script.stored_rows))
    ledger = script.done()
    alone = ledger._replace(rows=rows, sums=sums(rows, ledger.small, ledger.info))
    assert found(alone)[clauses.ORDER] == ["stored-behind-later"]


def test_a_message_is_not_lost_before_its_grace_is_over() -> None:
    script = Script()
    script.sub()
    script.at(50_100).sent(0)
    assert found(script.done(end_ms=60_000)) == {}


def test_a_subscription_that_came_late_has_lost_nothing() -> None:
    assert found(written(lost, whole=0)) == {}


def test_a_subscription_of_another_topic_has_lost_nothing() -> None:
    script = Script()
    script.sub()
    script.sub("other", topics="7")
    script.sent(0, 1)
    script.got(0, 1)
    assert found(script.done()) == {}


def test_what_is_not_delivered_yet_when_a_run_is_broken_off_is_not_lost() -> None:
    script = Script()
    script.sub()
    script.sent(0, 1)
    script.got(0)
    script.at(59_000).got(0, ack=False, redeliv=1)
    ledger = script.done()
    without_last = tuple(row for row in ledger.rows.deliveries if row.seq < 2)
    rows = ledger.rows._replace(deliveries=without_last)
    assert clauses.LOST not in found(ledger._replace(rows=rows, sums=sums(rows, ledger.small, ledger.info)))


def test_what_a_killed_consumer_may_have_got_last_is_not_lost() -> None:
    script = Script()
    script.sub()
    script.writers[1] = script.writers[1]._replace(closed=0)
    script.consumers[0] = script.consumers[0]._replace(t_to=5_000_000)
    script.writers.append(script.writers[1]._replace(writer=2, closed=1))
    script.consumer(t_from=4_000_000, writer=2)
    script.sent(0, 1)
    script.got(0)
    ledger = script.done()
    assert found(ledger) == {}
    assert "killed" in rule_of(ledger, clauses.LOST).remark


def test_what_a_killed_producer_had_asked_for_last_is_not_invented() -> None:
    script = Script()
    script.sub()
    script.writers[0] = script.writers[0]._replace(closed=0)
    script.got(500)
    script.sent(0)
    script.got(0)
    assert found(script.done(end_ms=30_000)).get(clauses.INVENTED) is None


def test_a_message_with_an_attempt_that_has_no_end_may_be_stored() -> None:
    script = Script()
    script.sub()
    script.sent(0, code=Result.FAIL)
    script.sent(0, code=None, attempt=1)
    script.got(0)
    assert found(script.done()) == {}


def test_logs_of_somebody_else_are_not_asked_why_a_message_came_again() -> None:
    ledger = written(unasked)
    info = some_info(origin=Origin.MAPPED)
    assert found(ledger._replace(info=info)) == {}


def test_a_refusal_on_an_ordered_subscription_brings_back_what_came_after() -> None:
    def story(s: Script) -> None:
        s.sent(0, 1)
        s.got(0, 1, ack=False)
        s.nacked(0)
        s.at(1_500).got(0, 1)

    assert found(written(story)) == {}


def test_a_batch_comes_back_whole_when_one_of_it_is_refused() -> None:
    def story(s: Script) -> None:
        s.sent(0, 1)
        s.got(0, batch=0)
        s.got(1, ack=False, batch=1)
        s.nacked(1)
        s.at(1_500).got(0, 1, redeliv=1, batch=0)

    assert found(written(story, **SHARED)) == {}


def test_a_cumulative_acknowledgment_ends_what_it_covers() -> None:
    def story(s: Script) -> None:
        s.sent(0)
        s.got(0, ack=False)
        s.acked(0, kind=AckKind.COVERED)
        s.epoch(9_000, 9_500, restart=1)
        s.at(10_000).got(0)

    assert found(written(story)) == {clauses.SURVIVES: ["came-again"]}


def test_an_acknowledgment_just_before_the_end_of_a_broker_may_be_forgotten() -> None:
    def story(s: Script) -> None:
        s.at(8_000).sent(0)
        s.got(0)
        s.epoch(9_000, 9_500, restart=1)
        s.at(10_000).got(0)

    assert found(written(story)) == {}


def test_times_of_clocks_that_nobody_compared_decide_nothing() -> None:
    script = Script()
    script.sub(type="Shared")
    script.writers[0] = script.writers[0]._replace(clock_error=-1)
    before_time(script)
    ledger = script.done()
    assert found(ledger) == {}
    assert rule_of(ledger, clauses.DUE).doubt


def test_the_errors_of_two_clocks_add_up() -> None:
    script = Script()
    script.sub(type="Shared")
    script.writers = [writer._replace(clock_error=600_000) for writer in script.writers]
    before_time(script)
    assert found(script.done()) == {}


def test_without_a_promise_of_order_none_is_broken() -> None:
    assert found(written(disorder, order=Order.NONE)) == {}
    assert found(written(key_disorder, order=Order.KEY)) == {clauses.KEY_ORDER: ["key-out-of-order"]}


def test_payloads_that_nobody_can_compare_have_not_passed() -> None:
    verdicts = {}
    for checksums in (False, True):
        script = Script(some_info(self_checking=False, checksums=checksums))
        script.sub()
        plain(script)
        verdicts[checksums] = verdict_of(script.done(), clauses.AS_SENT)
    assert verdicts == {False: "untestable", True: "pass"}


# --- verdicts ---


def test_a_requirement_that_was_never_put_to_the_test_does_not_pass() -> None:
    assert verdict_of(Script().done(), clauses.ORDER) == "untestable"


def verdict_of(ledger: Written, requirement: str) -> str:
    return next(row.verdict.value for row in judge_rows(*ledger, load()) if row.requirement == requirement)


def test_flagged_buckets_that_nobody_looked_at_leave_a_verdict_open() -> None:
    verdicts = {str(row.requirement): row for row in judge_rows(*written(plain), load(), {clauses.ORDER: 3})}
    assert verdicts[clauses.ORDER].verdict.value == "inconclusive"


def test_findings_come_in_order_are_counted_and_tell_the_whole_life() -> None:
    def story(s: Script) -> None:
        s.topic(dedup=1)
        s.sent(*range(100))
        s.got(*range(100))
        s.stored(*range(1, 100, 2), entry=500)

    ledger = written(story)
    row = next(row for row in judge_rows(*ledger, load()) if row.requirement == clauses.DEDUP)
    assert [finding.rows for finding in row.findings] == [f"stream = 0 and seq = {seq}" for seq in range(1, 41, 2)]
    assert "and 30 more" in row.reason
    assert any("reported: ok as 1:1" in line for line in row.findings[0].life)
    assert any(line.startswith("message 2: ok as 1:2") for line in row.findings[0].life)
