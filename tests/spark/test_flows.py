"""What a watcher says of seconds: rates and stalls, once they have held for a moment."""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.ledger.collection import Counted, Small
from assay_conformance.ledger.rows import Consumer, Epoch, Stream, Subscription, Topic
from assay_conformance.ledger.script import some_info
from assay_reports.spark.alarms import TOLD_LATER_S
from assay_reports.spark.flows import KEPT_S, Flows, Heard

SMALL = Small(
    streams={4: Stream(4, "p", 0), 5: Stream(5, "q", 0)},
    topics={0: Topic(0, "t", publish_rate=10)},
    subscriptions={0: Subscription(0, "s")},
    consumers={0: Consumer(0, 0, "c")},
)
HEALED_S = 20
AFTER_A_FAULT = SMALL._replace(
    topics={0: Topic(0, "t")}, epochs={0: Epoch(0, "cut", "broker 0", 18_000_000, HEALED_S * 1_000_000)}
)


def said(flows: Flows, small: Small, now_s: float) -> list[tuple[str, int]]:
    return [(alarm.requirement, alarm.about) for alarm in flows.alarms(small, now_s)]


def heard(what: Counted, of: int, seconds: range, n: int) -> list[Heard]:
    return [Heard(what, of, second, n) for second in seconds]


def test_a_rate_is_that_of_a_topic_over_all_its_streams_and_carries_over() -> None:
    flows = Flows(some_info())
    for stream in (4, 5):
        flows.take(heard(Counted.STORED, stream, range(30), 200))
    assert said(flows, SMALL, 0) == []
    assert said(flows, SMALL, TOLD_LATER_S) == [(clauses.PUBLISH, 0)]


def test_what_lies_within_the_rate_and_what_may_be_ahead_of_it_is_well() -> None:
    flows = Flows(some_info())
    flows.take(heard(Counted.STORED, 4, range(30), 90))
    assert said(flows, SMALL, 0) == said(flows, SMALL, 10) == []


def test_a_second_that_is_told_again_counts_once() -> None:
    flows = Flows(some_info())
    for _ in range(100):
        flows.take(heard(Counted.STORED, 4, range(30), 90))
    assert said(flows, SMALL, 0) == said(flows, SMALL, 10) == []


def test_what_holds_no_more_a_moment_later_is_not_said() -> None:
    flows = Flows(some_info())
    flows.take(heard(Counted.STORED, 4, range(30), 400))
    more = SMALL._replace(topics={0: Topic(0, "t", publish_rate=1_000)})
    assert said(flows, SMALL, 0) == said(flows, more, 5) == said(flows, SMALL, 6) == []


def test_a_subscription_that_gets_nothing_after_a_fault_is_a_stall_once_that_is_sure() -> None:
    flows = Flows(some_info(stall_us=10_000_000))
    flows.take(heard(Counted.STORED, 4, range(33), 5))
    flows.take(heard(Counted.FIRST, 0, range(18), 5))
    assert said(flows, AFTER_A_FAULT, 0) == said(flows, AFTER_A_FAULT, 5) == []
    flows.take(heard(Counted.STORED, 4, range(33, 36), 5))
    assert said(flows, AFTER_A_FAULT, 6) == []
    assert said(flows, AFTER_A_FAULT, 7) == [(clauses.FLOWS, 0)]


def test_a_subscription_that_gets_messages_again_after_a_fault_is_well() -> None:
    flows = Flows(some_info(stall_us=10_000_000))
    flows.take(heard(Counted.STORED, 4, range(60), 5))
    flows.take(heard(Counted.FIRST, 0, range(27, 60), 5))
    assert said(flows, AFTER_A_FAULT, 0) == said(flows, AFTER_A_FAULT, 5) == []


def test_only_the_last_while_is_kept_and_when_anything_was_refused_first() -> None:
    flows = Flows(some_info())
    for second in range(0, 2 * KEPT_S, 60):
        flows.take([Heard(what, 0, second, 1) for what in (Counted.FIRST, Counted.REFUSED)])
    kept = flows.series(SMALL)
    assert len(kept) <= 2 * (KEPT_S // 60 + 2)
    assert min(one.second for one in kept if one.what is Counted.REFUSED) == 0
