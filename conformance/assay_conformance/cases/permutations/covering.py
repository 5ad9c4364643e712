"""Few rows that contain every pair of values: a greedy covering array, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations

Word = str
Row = tuple[Word, ...]


@cache
def covering(factors: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return rows with one word of each factor; every pair of words of two factors is in one of them.

    The words of all factors differ. The first row has the first word of each.
    """
    # Words are bits: `missing[word]` are those it has not met yet.
    bit = {word: 1 << number for number, word in enumerate(word for words in factors for word in words)}
    whole = [sum(bit[word] for word in words) for words in factors]
    missing = {word: sum(whole) - whole[number] for number, words in enumerate(factors) for word in words}
    row, rows = tuple(words[0] for words in factors), []
    while True:
        rows.append(row)
        together = sum(bit[word] for word in row)
        for word in row:
            missing[word] &= ~together
        lacking = next((word for word, others in missing.items() if others), None)
        if lacking is None:
            return tuple(rows)
        row = _row(factors, lacking, bit, missing)


def _row(factors: Sequence[Row], lacking: Word, bit: dict[Word, int], missing: dict[Word, int]) -> Row:
    """Return a row with a word that lacks others, and one of these: by factor, the word that meets most new ones."""
    met = bit[lacking]
    chosen = {}
    # First those factors of which it lacks a word: so that at least one pair is new.
    for words in sorted(factors, key=lambda words: not any(missing[lacking] & bit[word] for word in words)):
        word = lacking if lacking in words else max(words, key=lambda word: (missing[word] & met).bit_count())
        chosen[words] = word
        met |= bit[word]
    return tuple(chosen[words] for words in factors)


def pairs_of(row: Sequence[Word]) -> Iterator[frozenset[Word]]:
    return map(frozenset, combinations(row, 2))
