"""Words hold what rows say, and those of the parts merge into those of the whole."""

from __future__ import annotations

import random

import pytest

from assay_conformance.ledger.certificates import plain
from assay_conformance.ledger.clauses import CLAUSES, TALLIES, Restart, Scope, Tally
from assay_conformance.ledger.rows import Ack, Attempt, Delivery, Outcome, Stored
from assay_conformance.ledger.tables import NONE, Plain
from assay_conformance.ledger.words import ALL, EMPTY, NEVER, WORDS, Bucket, Words, bit, bits, fold, merge


def attempt(seq: int) -> Attempt:
    return Attempt(1, seq, NONE, 0, 10, 7)


def delivery(seq: int, **fields: int) -> Delivery:
    values = {"redeliv": 0, "t": 0, "crc": 7, **fields}
    return Delivery(0, 0, 0, 1, seq, NONE, 0, seq, NONE, **values)


def outcome(seq: int, code: int = 0, **fields: int) -> Outcome:
    return Outcome(1, seq, 0, seq, NONE, 0, code, **fields)


ROWS: list[Attempt | Outcome | Delivery | Ack | Stored] = [
    *(attempt(seq) for seq in range(200)),
    *(outcome(seq, code=seq % 3, ord=1 - seq % 2) for seq in range(200)),
    *(delivery(seq, redeliv=seq % 2, again=seq % 3, wait=seq) for seq in range(200)),
    *(Ack(0, 0, 1, seq, 0, seq, NONE, seq % 3, 5, 6) for seq in range(200)),
    *(Stored(1, seq, 0, seq, NONE, 0, 1 + seq % 2, 7) for seq in range(200)),
]


def test_the_table_of_words_is_in_the_order_of_a_row_of_words() -> None:
    assert tuple(word.name for word in WORDS) == Words._fields


@pytest.mark.parametrize("key", [NONE, 0, 3])
def test_what_is_known_of_a_plain_delivery_is_what_its_words_say(key: int) -> None:
    row = delivery(5, t=9)._replace(key=key)
    conditions = {"": False, ALL: True, f"plain = {Plain.KEYED}": plain(row) is Plain.KEYED}
    for place, word in enumerate(WORDS):
        if word.table == "delivery":
            assert (word.of(row) not in (None, EMPTY[place])) is conditions[word.plain], word.name


@pytest.mark.parametrize(
    "odd",
    [{"redeliv": 1}, {"again": 1}, {"again": 2}, {"wait": 0}, {"gap": 0}, {"key": 1, "kgap": -3}, {"ok": 0}],
    ids=str,
)
def test_a_delivery_that_calls_for_a_look_is_not_plain(odd: dict[str, int]) -> None:
    assert plain(delivery(5)) is Plain.UNKEYED
    assert plain(delivery(5)._replace(**odd)) is Plain.NO


def test_a_clause_names_the_words_it_reads() -> None:
    for clause in CLAUSES.values():
        assert set(clause.words) <= set(Words._fields)
        assert all(word in clause.sql for word in clause.words), clause.name


@pytest.mark.parametrize("seq", [0, 62, 63, 64, 127, 1 << 41])
def test_a_message_has_one_bit_and_the_last_of_a_word_is_the_sign(seq: int) -> None:
    assert bits(bit(seq)) == 1
    assert (bit(seq) < 0) is (seq & 63 == 63)


def test_the_first_64_messages_of_a_stream_share_a_bucket() -> None:
    assert set(fold([attempt(63), attempt(64), delivery(3)])) == {
        Bucket(NONE, 1, 0),
        Bucket(NONE, 1, 1),
        Bucket(0, 1, 0),
    }


@pytest.mark.parametrize("seed", range(5))
def test_folds_of_parts_merge_into_the_fold_of_the_whole_however_rows_are_split(seed: int) -> None:
    chance = random.Random(seed)
    rows = list(ROWS)
    chance.shuffle(rows)
    cut = chance.randrange(len(rows))
    assert merge(fold(rows[:cut]), fold(rows[cut:])) == fold(ROWS)


def test_a_bucket_without_rows_gives_no_reason_to_look() -> None:
    scope = Scope(shared=1, whole=1, nack_delay=100, max_redeliv=3, acks=1, dedup=1, read_back=1, ordered=1, keyed=1)
    assert not [clause.name for clause in CLAUSES.values() if clause.holds(EMPTY, scope)]
    assert not any(tally.count(EMPTY, scope) for tally in TALLIES.values())


class Only:
    """Words of which only some can be read, all of them with every bit set."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __getattr__(self, name: str) -> int:
        assert name in self._names
        return -1


@pytest.mark.parametrize("tally", TALLIES.values(), ids=TALLIES)
def test_a_tally_reads_the_words_it_names_and_no_others(tally: Tally) -> None:
    always = Restart(NEVER, NEVER)
    scope = Scope(whole=1, nack_delay=0, dedup=1, read_back=1, ordered=1, keyed=1, shared=1, restarts=(always,))
    tally.count(Only(tally.words), scope)  # type: ignore[arg-type]


def test_words_that_are_not_asked_for_stay_as_without_rows() -> None:
    assert fold(ROWS, {"db"}) == {
        bucket: EMPTY._replace(db=words.db) for bucket, words in fold(ROWS).items() if bucket.sub != NONE and words.db
    }


def test_a_least_wait_is_that_of_deliveries_to_who_had_the_message() -> None:
    words = fold([delivery(1, wait=-5), delivery(2, again=1, wait=70), delivery(3, again=1, wait=90)])
    assert words[Bucket(0, 1, 0)].least_nack_us == 70
    assert words[Bucket(0, 1, 0)].least_due_us == -5
    assert EMPTY.least_nack_us == NEVER
