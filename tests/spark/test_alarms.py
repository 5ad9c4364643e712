"""What a watcher looks into, and when: words of buckets in, looks out."""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.ledger.clauses import CLAUSES, Restart, Scope
from assay_conformance.ledger.rules import RULES
from assay_conformance.ledger.script import some_info
from assay_conformance.ledger.tables import NONE
from assay_conformance.ledger.words import WORDS, Bucket, Words
from assay_reports.spark import alarms
from assay_reports.spark.flows import COUNTING

SUB, STREAM = 0, 3
ALL = -1
GRACE_S = 10


def watching(sub: int = SUB) -> alarms.Watching:
    info = some_info(grace_us=GRACE_S * 1_000_000)
    found = alarms.Watching(info)
    found.name({(NONE, STREAM): Scope(ordered=1), (sub, STREAM): Scope(whole=1, ordered=1)})
    return found


def sent(b: int = 0, era: int = 0, **words: int) -> alarms.Update:
    return alarms.Update(era, Bucket(NONE, STREAM, b), Words(**words))


def given(b: int = 0, era: int = 0, **words: int) -> alarms.Update:
    return alarms.Update(era, Bucket(SUB, STREAM, b), Words(**words))


def due(found: alarms.Watching, at_s: float) -> set[str]:
    return {look.requirement for look in found.due(at_s)}


def test_what_is_told_and_not_delivered_is_looked_for_after_the_grace() -> None:
    found = watching()
    found.take([sent(sb=0b11, rb=0b11), given(db=0b01)], 0)
    assert due(found, GRACE_S - 1) == set()
    assert due(found, GRACE_S) == {clauses.LOST}


def test_late_is_not_lost() -> None:
    found = watching()
    found.take([sent(sb=0b11, rb=0b11)], 0)
    found.take([given(db=0b11)], 5)
    assert due(found, GRACE_S * 2) == set()


def test_what_is_missing_is_looked_for_again() -> None:
    found = watching()
    found.take([sent(sb=1, rb=1)], 0)
    (look,) = found.due(GRACE_S)
    found.looked(look, GRACE_S)
    assert due(found, GRACE_S + 1) == set()
    assert due(found, GRACE_S * 2) == {clauses.LOST}


def test_disorder_is_looked_into_at_once() -> None:
    found = watching()
    found.take([sent(sb=1, rb=1), given(db=1, badgap=1)], 0)
    assert due(found, 0) == {clauses.ORDER}


def test_a_delivery_whose_attempt_is_not_there_yet_is_given_time() -> None:
    found = watching()
    found.take([given(db=1)], 0)
    assert due(found, 1) == set()
    found.take([sent(sb=1)], 2)
    assert due(found, 60) == set()


def test_a_bucket_that_is_well_is_left_alone_until_it_changes() -> None:
    found = watching()
    found.take([given(db=1, fb=1, fn=2), sent(sb=1, rb=1)], 0)
    (look,) = found.due(5)
    found.looked(look, 5)
    found.take([given(db=1, fb=1, fn=2)], 6)
    assert due(found, 60) == set()
    found.take([given(db=1, fb=1, fn=3)], 61)
    assert due(found, 70) == {clauses.CONTRACT}


def test_words_of_several_eras_are_one_bucket() -> None:
    found = watching()
    found.take([sent(era=0, sb=0b01, rb=0b01), sent(era=600, sb=0b10, rb=0b10)], 0)
    found.take([given(era=600, db=0b11)], 1)
    assert due(found, GRACE_S * 2) == set()


def test_settled_buckets_are_forgotten() -> None:
    found = watching()
    for b in range(1000):
        found.take([sent(b=b, sb=ALL, rb=ALL), given(b=b, db=ALL, fb=ALL, fn=64)], b)
    assert found.open == 0


def test_streams_nobody_has_named_yet_are_kept_in_mind() -> None:
    found = watching()
    found.take([alarms.Update(0, Bucket(NONE, 9, 0), Words(sb=1, rb=1, badord=1))], 0)
    assert due(found, 60) == set()
    found.name({(NONE, 9): Scope(ordered=1)})
    found.take([], 60)
    assert due(found, 60) == {clauses.ORDER}


def test_the_greatest_number_delivered_is_known() -> None:
    found = watching()
    found.take([given(b=2, db=0b101)], 0)
    assert found.given == {(SUB, STREAM): 130}


def said_of(b: int = 0, **words: int) -> alarms.Update:
    """With what the subscription's consumers said."""
    return given(b, **words)


def test_what_was_refused_is_looked_for_after_the_grace_and_again_after_another_one() -> None:
    found = watching()
    found.take([sent(sb=1, rb=1), said_of(db=1, fb=1, fn=1, nb=1)], 0)
    assert due(found, GRACE_S - 1) == set()
    (look,) = found.due(GRACE_S)
    assert look.requirement == clauses.WINDOW
    found.looked(look, GRACE_S)
    assert due(found, GRACE_S * 2 - 1) == set()
    assert due(found, GRACE_S * 2) == {clauses.WINDOW}


def test_what_was_refused_and_acknowledged_later_is_well() -> None:
    found = watching()
    found.take([sent(sb=1, rb=1), said_of(db=1, fb=1, fn=1, nb=1)], 0)
    found.take([said_of(db=1, fb=1, fn=1, mb=1, nb=1, ab=1, an=1)], 3)
    assert due(found, GRACE_S * 3) == set()


def test_a_refusal_that_comes_back_too_early_does_not_wait_for_what_is_missing() -> None:
    found = watching()
    found.name({(NONE, STREAM): Scope(), (SUB, STREAM): Scope(whole=1, shared=1, nack_delay=500_000)})
    found.take([sent(sb=0b11, rb=0b11), said_of(db=0b11, fb=0b11, fn=2, nb=0b10)], 0)
    found.take([said_of(db=0b11, fb=0b11, fn=2, nb=0b11, mb=1, least_nack_us=400_000)], 1)
    assert due(found, 1) == {clauses.WINDOW}


def test_a_hole_in_what_is_acknowledged_is_looked_into_when_somebody_has_left() -> None:
    found = watching()
    found.take([sent(sb=ALL, rb=ALL), said_of(db=ALL, fb=ALL, fn=64, ab=~1, an=63)], 0)
    assert due(found, GRACE_S * 3) == set()
    found.name({(NONE, STREAM): Scope(ordered=1), (SUB, STREAM): Scope(whole=1, ordered=1, acks=1)}, 50)
    assert due(found, 50 + GRACE_S) == {clauses.KEEPS}


def test_what_comes_again_behind_a_broker_that_ended_is_looked_into_once_that_is_known() -> None:
    found = watching()
    found.take([sent(sb=1, rb=1), said_of(db=1, fb=1, fn=1, ab=1, an=1, least_done_us=10, last_us=900)], 0)
    assert due(found, 60) == set()
    restarted = Scope(whole=1, ordered=1, restarts=(Restart(durable_us=20, over_us=800),))
    found.name({(NONE, STREAM): Scope(ordered=1), (SUB, STREAM): restarted}, 60)
    assert due(found, 60 + alarms.TOLD_LATER_S) == {clauses.SURVIVES}


def test_whatever_can_be_told_from_what_lands_is_told_while_the_run_goes_on() -> None:
    landing = {table.name for table in alarms.TABLES}
    of = {word.name: word.table for word in WORDS}
    told = {name for name, clause in CLAUSES.items() if {of[word] for word in clause.words} <= landing}
    assert alarms.live_clauses(some_info()).keys() == told


def test_every_rule_is_told_of_while_the_run_goes_on_or_at_its_end() -> None:
    live = {rule.requirement for rule in RULES if alarms.live_waits(rule.requirement)} | set(COUNTING)
    assert live | alarms.AT_THE_END.keys() == {rule.requirement for rule in RULES}
    of = {word.name: word.table for word in WORDS}
    stored = {clause.requirement for clause in CLAUSES.values() if "stored" in {of[word] for word in clause.words}}
    assert stored | {clauses.CHUNKS} <= alarms.AT_THE_END.keys()
