import msgspec
import pytest

from assay_conformance.checks.delivery_order import DeliversInIdOrder
from assay_conformance.checks.ordering import (
    CallbacksInSendOrder,
    KeepsSendOrder,
    ReceiptsInSendOrder,
)
from assay_conformance.checks.sequence_ids import SequenceIdsStepByOne
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import DUPLICATE, Script, entry_id
from assay_conformance.model.case import Rate, Topic, Topology
from assay_conformance.model.event import ErrorClass, Fate, Member, Sides
from assay_conformance.model.verdict import Grade


def _three(story: Script) -> None:
    story.producer()
    for number in range(3):
        story.send(number)
    for number in range(3):
        story.send_frame(number)


def _story(*stored: int, ok: tuple[int, ...] = (0, 1, 2)) -> Script:
    story = Script()
    _three(story)
    for number in stored:
        story.stored(number)
    for number in ok:
        story.receipt(number)
        story.ok(number)
    story.read_back(*range(len(stored)))
    return story


# --- keeps-send-order -------------------------------------------------------------------------------------------------


def test_stored_in_send_order_is_accepted() -> None:
    check = trial(KeepsSendOrder, _story(0, 1, 2).done())
    assert (check.findings, check.exercised) == ([], 2)


def test_copies_left_by_a_resend_are_accepted() -> None:
    assert trial(KeepsSendOrder, _story(0, 1, 0, 1, 2).done()).findings == []


def test_stored_out_of_order_is_found() -> None:
    (finding,) = trial(KeepsSendOrder, _story(0, 2, 1).done()).findings
    assert finding.code == "stored-out-of-order"
    assert "message 1" in finding.sentence


def test_acknowledged_but_missing_is_found() -> None:
    (finding,) = trial(KeepsSendOrder, _story(0, 2).done()).findings
    assert (finding.code, finding.grade) == ("acked-but-missing", Grade.A)


def test_unknown_send_may_be_missing() -> None:
    assert trial(KeepsSendOrder, _story(0, 2, ok=(0, 2)).done()).findings == []


def test_loss_is_not_judged_without_the_last_word_on_the_topic() -> None:
    story = _story(0, 2)
    events = [event for event in story.done() if type(event).__name__ != "ReadBack"]
    assert trial(KeepsSendOrder, events).findings == []


def test_message_altered_on_its_way_is_not_judged() -> None:
    story = _story(0, 2)
    story.send_frame(1, sides=Sides.RECEIVER, fate=Fate.ALTERED)
    assert trial(KeepsSendOrder, story.done()).findings == []


def test_loss_on_a_throttled_topic_is_left_to_throttling() -> None:
    topology = Topology(topics=(Topic(name="t", publish_rate=Rate(messages=5)),))
    case = msgspec.structs.replace(ANY_CASE, topology=topology)
    assert trial(KeepsSendOrder, _story(0, 2).done(), case).findings == []


def test_partitions_keep_order_each_for_itself() -> None:
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=2),)))
    story = Script()
    _three(story)
    for number, partition in ((1, 1), (0, 0), (2, 0)):
        story.stored(number, topic=f"t-partition-{partition}")
    assert trial(KeepsSendOrder, story.done(), case).findings == []


def test_out_of_order_within_a_partition_is_found() -> None:
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=2),)))
    story = Script()
    _three(story)
    story.stored(2, topic="t-partition-0")
    story.stored(0, topic="t-partition-0")
    assert [f.code for f in trial(KeepsSendOrder, story.done(), case).findings] == ["stored-out-of-order"]


def _dispatch(*entries: int, kind: str = "Exclusive") -> list[str]:
    story = Script()
    story.consumer(kind=kind)
    for entry in entries:
        story.message(entry)
    return [finding.code for finding in trial(KeepsSendOrder, story.done()).findings]


def test_dispatched_out_of_order_is_found() -> None:
    assert _dispatch(0, 2, 1) == ["dispatched-out-of-order"]


def test_redelivery_may_go_back() -> None:
    assert _dispatch(0, 1, 2, 1, 2, 3) == []


def test_shared_subscription_has_no_dispatch_order() -> None:
    assert _dispatch(0, 2, 1, kind="Shared") == []


# --- receipts-in-send-order -------------------------------------------------------------------------------------------


def _receipts(*receipts: int) -> ReceiptsInSendOrder:
    story = Script()
    _three(story)
    for number in receipts:
        story.receipt(number)
    return trial(ReceiptsInSendOrder, story.done())


def test_receipts_in_send_order_are_accepted() -> None:
    check = _receipts(0, 1, 2)
    assert (check.findings, check.exercised) == ([], 2)


def test_of_two_messages_with_one_id_either_may_have_been_answered_first() -> None:
    story = Script()
    story.producer()
    for sequence_id in (0, 3, 0):
        story.send_frame(sequence_id)
    story.receipt(0, id=DUPLICATE)
    story.receipt(0)
    story.receipt(3)
    assert trial(ReceiptsInSendOrder, story.done()).findings == []


def test_receipt_out_of_order_is_found() -> None:
    assert [finding.code for finding in _receipts(0, 2, 1).findings] == ["receipt-out-of-order"]


def test_receipt_of_a_duplicate_may_overtake() -> None:
    story = Script()
    _three(story)
    story.receipt(2, id=DUPLICATE)
    story.receipt(0)
    story.receipt(1)
    assert trial(ReceiptsInSendOrder, story.done()).findings == []


def test_receipts_of_a_resend_on_the_same_connection_are_not_told_apart() -> None:
    story = Script()
    _three(story)
    story.send_frame(0)
    story.receipt(0)
    story.receipt(1)
    story.receipt(2)
    story.receipt(0)
    assert trial(ReceiptsInSendOrder, story.done()).findings == []


def test_receipts_that_the_client_alone_saw_reordered_are_not_the_brokers() -> None:
    story = Script()
    _three(story)
    story.receipt(0, sides=Sides.SENDER)
    story.receipt(1)
    story.receipt(0, sides=Sides.RECEIVER)
    assert trial(ReceiptsInSendOrder, story.done()).findings == []


# --- sequence-ids-step-by-one -----------------------------------------------------------------------------------------


def _ids(*ids: int, **send: int) -> SequenceIdsStepByOne:
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(ids):
        story.send(number, **send)
        story.send_frame(number, sequence_id=sequence_id)
    return trial(SequenceIdsStepByOne, story.done())


def test_ids_in_steps_of_one_are_accepted() -> None:
    check = _ids(5, 6, 7)
    assert (check.findings, check.exercised) == ([], 2)


@pytest.mark.parametrize(("batching", "codes"), [(True, []), (False, ["id-reused"])])
def test_ids_are_sorted_by_key_where_there_are_batches(batching: bool, codes: list[str]) -> None:
    story = Script()
    story.producer(batching=batching, batching_type="key_based")
    for number, sequence_id in enumerate((1, 0)):
        story.send(number)
        story.send_frame(number, sequence_id=sequence_id)
    assert [finding.code for finding in trial(SequenceIdsStepByOne, story.done()).findings] == codes


def test_skipped_id_is_found() -> None:
    assert [finding.code for finding in _ids(0, 1, 3).findings] == ["id-skipped"]


def test_reused_id_is_found() -> None:
    assert [finding.code for finding in _ids(0, 1, 1).findings] == ["id-reused"]


def test_ids_chosen_by_the_application_are_not_judged() -> None:
    assert _ids(0, 10, 20, sequence_id=1).findings == []


def test_batch_takes_one_id_for_each_message() -> None:
    story = Script()
    story.producer()
    for number in range(4):
        story.send(number)
    story.send_frame(0, 1, 2)
    story.send_frame(3)
    assert trial(SequenceIdsStepByOne, story.done()).findings == []


def test_ids_of_messages_that_overtook_a_batch_are_not_missing_behind_it() -> None:
    story = Script()
    story.producer()
    for number in range(5):
        story.send(number)
    story.send_frame(1, sequence_id=1)
    story.send_frame(2, sequence_id=2)
    story.send_frame(0, 3, sequence_id=0)
    story.send_frame(4, sequence_id=4)
    assert trial(SequenceIdsStepByOne, story.done()).findings == []


def _unnumbered(*ids: int, fail: int | None = None, fate: Fate = Fate.PASSED) -> SequenceIdsStepByOne:
    """Messages too small for an identity; `fail`: one more is asked for, and fails, before this one."""
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(ids):
        if number == fail:
            story.send(100, size=3)
        story.send(number, size=3)
        members = (Member(size=3, digest=number, identity=None, sequence_id=None),)
        story.send_frame(number, sequence_id=sequence_id, members=members, unit=number, size=3, fate=fate)
        story.receipt(sequence_id)
        story.ok(number)
    return trial(SequenceIdsStepByOne, story.done())


@pytest.mark.parametrize(
    ("ids", "codes"),
    [((5, 6, 7), []), ((0, 0, 1), ["id-reused"]), ((5, 4), ["id-reused"]), ((0, 7), ["id-skipped"])],
)
def test_ids_of_messages_without_identity_are_judged_by_the_order_they_left_in(
    ids: tuple[int, ...], codes: list[str]
) -> None:
    assert [finding.code for finding in _unnumbered(*ids).findings] == codes


def test_a_message_without_identity_that_never_left_may_have_taken_an_id() -> None:
    assert _unnumbered(0, 2, fail=1).findings == []


def test_ids_of_messages_without_identity_are_not_judged_where_a_fault_repeated_a_send() -> None:
    assert _unnumbered(0, 0, fate=Fate.DUPLICATED).findings == []


def test_message_that_never_left_may_have_taken_an_id() -> None:
    for next_id in (1, 2):
        story = Script()
        story.producer()
        for number in range(3):
            story.send(number)
        story.send_frame(0)
        story.fail(1, ErrorClass.TOO_LARGE)
        story.send_frame(2, sequence_id=next_id)
        assert trial(SequenceIdsStepByOne, story.done()).findings == []


def test_resend_is_no_reuse() -> None:
    story = Script()
    _three(story)
    story.cut()
    story.producer_again(1)
    story.send_frame(1, conn=1)
    story.send_frame(2, conn=1)
    assert trial(SequenceIdsStepByOne, story.done()).findings == []


def test_id_taken_by_another_copy_leaves_no_gap() -> None:
    story = Script()
    _three(story)
    story.send_frame(2, sequence_id=3)
    story.send(3)
    story.send_frame(3, sequence_id=4)
    assert trial(SequenceIdsStepByOne, story.done()).findings == []


# --- callbacks-in-send-order ------------------------------------------------------------------------------------------


def _callbacks(*numbers: int) -> CallbacksInSendOrder:
    story = Script()
    _three(story)
    for number in numbers:
        story.receipt(number)
    for number in numbers:
        story.ok(number)
    return trial(CallbacksInSendOrder, story.done())


def test_callbacks_in_send_order_are_accepted() -> None:
    check = _callbacks(0, 1, 2)
    assert (check.findings, check.exercised) == ([], 2)


def test_callback_out_of_order_is_found() -> None:
    (finding,) = _callbacks(0, 2, 1).findings
    assert (finding.code, finding.grade) == ("callback-out-of-order", Grade.A)


def test_send_refused_on_the_spot_may_overtake() -> None:
    story = Script()
    _three(story)
    story.fail(2, ErrorClass.QUEUE_FULL)
    story.ok(0)
    story.ok(1)
    assert trial(CallbacksInSendOrder, story.done()).findings == []


def test_time_out_of_an_older_send_after_a_younger_success_is_found() -> None:
    story = Script()
    _three(story)
    story.ok(1)
    story.unknown(0)
    assert [f.code for f in trial(CallbacksInSendOrder, story.done()).findings] == ["callback-out-of-order"]


def test_sends_one_after_the_other_do_not_exercise_callback_order() -> None:
    story = Script()
    story.producer()
    for number in range(3):
        story.send(number)
        story.ok(number)
    assert trial(CallbacksInSendOrder, story.done()).exercised == 0


# --- delivers-in-id-order ---------------------------------------------------------------------------------------------


def _delivered(*entries: int, kind: str = "Exclusive", again: bool = False) -> DeliversInIdOrder:
    """Entries 0 to 2 are dispatched in order, and handed over in this one; `again`: they are asked for again, and come
    again behind the second."""
    story = Script()
    story.consumer(kind=kind)
    for entry in range(3):
        story.message(entry)
    for place, entry in enumerate(entries):
        if again and place == 2:
            story.redeliver_frame()
            for number in range(3):
                story.message(number)
        story.received(entry)
    return trial(DeliversInIdOrder, story.done())


def test_messages_handed_over_in_id_order_are_accepted() -> None:
    check = _delivered(0, 1, 2)
    assert (check.findings, check.exercised) == ([], 2)


def test_message_handed_over_after_a_later_one_is_found() -> None:
    assert [finding.code for finding in _delivered(0, 2, 1).findings] == ["delivered-out-of-order"]


def test_message_handed_over_twice_is_found() -> None:
    assert [finding.code for finding in _delivered(0, 0).findings] == ["delivered-out-of-order"]


def test_batch_handed_over_backwards_is_found() -> None:
    story = Script()
    story.consumer()
    story.message(0, 1)
    story.received(1, message_id=entry_id(0, 1, 2))
    story.received(0, message_id=entry_id(0, 0, 2))
    check = trial(DeliversInIdOrder, story.done())
    assert [finding.code for finding in check.findings] == ["delivered-out-of-order"]


def test_redelivery_may_go_back_once() -> None:
    assert _delivered(0, 1, 0, 1, 2, again=True).findings == []


def test_a_return_that_nothing_came_again_for_excuses_no_disorder_later() -> None:
    story = Script()
    story.consumer()
    story.message(0)
    story.received(0)
    story.cut()
    story.connected(1)
    story.subscribed(1)
    for entry in (1, 2):
        story.message(entry, conn=1)
    for entry in (2, 1):
        story.received(entry)
    check = trial(DeliversInIdOrder, story.done())
    assert [finding.code for finding in check.findings] == ["delivered-out-of-order"]


def test_shared_subscription_promises_no_order() -> None:
    assert _delivered(0, 2, 1, kind="Shared").findings == []
