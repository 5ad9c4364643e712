"""One cause is told once, and two causes of one finding are told apart by what their Cases need."""

from __future__ import annotations

import msgspec

from assay_conformance.cases.stored import chunks, compressed, plain
from assay_conformance.machines.causes import MOST_SHAPES, Breach, Cause, Causes
from assay_conformance.machines.signature import shape
from assay_conformance.model.case import Case, ClientConfig, Step, Topic, Topology, Who
from assay_conformance.model.fault import AnswerError, Cut, CutHow, Direction, Drop, Fault, OnFrame, Rewrite

LOSS: Breach = ("resend.pending-sends-resent", "lost")
TWICE: Breach = ("dedup.stored-once", "twice")
RECEIPT = OnFrame(command="SEND_RECEIPT", direction=Direction.TO_CLIENT)


def _case(*verbs: str, drop: bool = False, batching: bool = False) -> Case:
    return Case(
        id="generated/x",
        title="x",
        requirements=(),
        steps=tuple(Step(Who.AGENT, verb) for verb in verbs),
        faults=(Fault(trigger=RECEIPT, action=Drop()),) if drop else (),
        config=ClientConfig(producer={"batching": True} if batching else {}),
    )


def test_a_shape_has_no_numbers_and_no_order() -> None:
    assert shape(_case("send", "seek", "send")) == shape(_case("seek", "send"))


def test_a_shape_does_not_say_at_which_frame_or_how_a_connection_ended() -> None:
    reset = Fault(trigger=RECEIPT, action=Cut())
    finished = Fault(trigger=OnFrame(command="SEND", direction=Direction.TO_BROKER), action=Cut(how=CutHow.FIN))
    one, two = (msgspec.structs.replace(_case("send"), faults=(fault,)) for fault in (reset, finished))
    assert shape(one) == shape(two)


def test_a_shape_says_which_error_a_refusal_was() -> None:
    busy, fenced = (
        msgspec.structs.replace(_case("send"), faults=(Fault(trigger=RECEIPT, action=AnswerError(error)),))
        for error in ("ProducerBusy", "ProducerFenced")
    )
    assert shape(busy) ^ shape(fenced) == {"refused: ProducerBusy", "refused: ProducerFenced"}


def test_a_shape_says_what_of_a_frame_was_rewritten() -> None:
    fault = Fault(trigger=RECEIPT, action=Rewrite({"sequence_id": 0}))
    case = msgspec.structs.replace(_case("send"), faults=(fault,))
    assert shape(case) == {"agent send", "something is garbled", "rewritten sequence_id"}


def test_a_shape_does_not_say_how_patient_the_client_is() -> None:
    patient = ClientConfig(client={"operation_timeout_ms": 2_000}, producer={"send_timeout_ms": 2_000})
    assert shape(msgspec.structs.replace(_case("send"), config=patient)) == shape(_case("send"))


def test_a_shape_says_what_topic_and_configuration_change() -> None:
    case = msgspec.structs.replace(
        _case("send", batching=True), topology=Topology(topics=(Topic(name="t", partitions=3),))
    )
    assert {"topic partitions", "producer batching=True"} <= shape(case)


def test_a_shape_says_what_is_stored_in_chunks() -> None:
    told = {"entries": chunks(0, 2)}
    case = msgspec.structs.replace(_case(), steps=(Step(Who.BROKER, "store_entries", told),))
    assert shape(case) == {"broker store_entries", "stored in chunks"}


def test_a_shape_says_what_is_untrue_of_a_stored_entry() -> None:
    told = {"entries": [compressed("SNAPPY", plain(0), uncompressed_size=10), plain(1)]}
    case = msgspec.structs.replace(_case(), steps=(Step(Who.BROKER, "store_entries", told),))
    assert shape(case) == {"broker store_entries", "stored compression=SNAPPY", "stored uncompressed_size"}


def test_a_case_with_all_a_cause_needs_is_explained_by_it_and_counted() -> None:
    causes = Causes()
    cause = causes.add(Cause(LOSS, _case("send", drop=True), also=frozenset({TWICE}), shown_in={"generated/1"}))
    for _ in range(2):
        assert causes.unexplained(_case("send", "seek", drop=True), [LOSS, TWICE]) == []
    assert cause.shown_in == {"generated/1", "generated/x"}


def test_a_case_that_lacks_what_a_cause_needs_has_another_one() -> None:
    causes = Causes()
    causes.add(Cause(LOSS, _case("send", drop=True)))
    assert causes.unexplained(_case("send"), [LOSS]) == [LOSS]


def test_what_breaks_beside_it_in_its_reduced_case_is_the_same_cause() -> None:
    causes = Causes()
    causes.add(Cause(LOSS, _case("send", drop=True), also=frozenset({TWICE})))
    assert causes.unexplained(_case("send", drop=True), [TWICE]) == []


def test_a_failure_that_reduced_to_the_same_shape_is_no_second_cause() -> None:
    causes = Causes()
    first = causes.add(Cause(LOSS, _case("send", drop=True), shown_in={"1", "2"}))
    assert causes.add(Cause(LOSS, _case("send", "send", drop=True), shown_in={"2", "3"})) is first
    assert [cause.seen for cause in causes.found] == [3]


def test_what_does_not_come_again_is_the_doing_of_what_was_found_of_its_code() -> None:
    causes = Causes()
    assert causes.for_want_of_a_cause(LOSS) is None
    cause = causes.add(Cause(LOSS, _case("send", drop=True), also=frozenset({TWICE})))
    assert causes.for_want_of_a_cause(LOSS) is causes.for_want_of_a_cause(TWICE) is cause


def test_what_shows_beside_something_that_never_came_again_is_not_its_doing() -> None:
    causes = Causes()
    causes.add(Cause(LOSS, _case("send", drop=True), also=frozenset({TWICE}), reproduced=False))
    assert causes.for_want_of_a_cause(TWICE) is None


def test_what_never_came_again_gives_its_place_to_what_did() -> None:
    causes = Causes()
    never = causes.add(Cause(LOSS, _case("send", "seek"), reproduced=False))
    other = causes.add(Cause(TWICE, _case("send", "seek", "ack"), reproduced=False))
    cause = Cause(LOSS, _case("send", drop=True))
    assert causes.displace(cause) == [never]
    assert causes.add(cause) is cause
    assert causes.found == [other, cause]


def test_what_came_again_keeps_its_place() -> None:
    causes = Causes()
    first = causes.add(Cause(LOSS, _case("send", "seek")))
    assert causes.displace(Cause(LOSS, _case("send", drop=True))) == []
    assert causes.displace(Cause(LOSS, _case("send"), reproduced=False)) == []
    assert causes.found == [first]


def test_a_reduced_case_stands_for_one_that_was_not_reduced_to_the_end() -> None:
    causes = Causes()
    large = _case("send", "seek", "ack", drop=True)
    causes.add(Cause(TWICE, large, also=frozenset({LOSS}), minimal=False, shown_in={"1", "2", "3"}))
    small = causes.add(Cause(LOSS, _case("send", drop=True), shown_in={"4"}))
    assert causes.found == [small]
    assert (small.breach, small.also, small.seen) == (LOSS, frozenset({TWICE}), 4)


def test_two_shapes_of_one_finding_are_two_causes() -> None:
    causes = Causes()
    causes.add(Cause(LOSS, _case("send", drop=True)))
    causes.add(Cause(LOSS, _case("send", batching=True)))
    assert len(causes.found) == 2


def test_beyond_some_shapes_of_one_finding_nothing_is_told_apart() -> None:
    causes = Causes()
    for verb in ("ack", "nack", "seek", "flush")[:MOST_SHAPES]:
        causes.add(Cause(LOSS, _case(verb)))
    assert causes.unexplained(_case("send"), [LOSS]) == []


def test_what_is_not_told_apart_is_counted_as_of_other_shapes() -> None:
    causes = Causes()
    first, *_ = [causes.add(Cause(LOSS, _case(verb))) for verb in ("ack", "nack", "seek", "flush")[:MOST_SHAPES]]
    other, alike = (msgspec.structs.replace(_case(*verbs), id=verbs[-1]) for verbs in (["send"], ["send", "ack"]))
    for case in (other, alike):
        assert causes.unexplained(case, [LOSS]) == []
    assert (first.shown_in, first.other_shapes) == ({other.id, alike.id}, {other.id})
