"""What a watcher looks into, and when: words of buckets in, looks out."""

from __future__ import annotations

from assay_conformance.ledger import clauses
from assay_conformance.ledger.clauses import Scope
from assay_conformance.ledger.script import some_info
from assay_conformance.ledger.tables import NONE
from assay_conformance.ledger.words import Bucket, Words
from assay_reports.spark import alarms

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
