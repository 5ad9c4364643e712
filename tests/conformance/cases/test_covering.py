"""Covering arrays contain every pair, in few rows, and always the same ones."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_conformance.cases.permutations import covering, pairs_of


def factors(*sizes: int) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(f"{number}-{word}" for word in range(size)) for number, size in enumerate(sizes))


def every_pair(of: tuple[tuple[str, ...], ...]) -> set[frozenset[str]]:
    return {frozenset(pair) for one, other in combinations(of, 2) for pair in product(one, other)}


@settings(deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=8))
def test_every_pair_is_in_a_row(sizes: list[int]) -> None:
    of = factors(*sizes)
    assert {pair for row in covering(of) for pair in pairs_of(row)} == every_pair(of)


def test_a_row_has_one_word_of_each_factor() -> None:
    of = factors(3, 2, 4)
    assert all(
        len(row) == 3 and all(word in words for word, words in zip(row, of, strict=True)) for row in covering(of)
    )


def test_the_first_row_is_of_first_words() -> None:
    assert covering(factors(3, 2, 4))[0] == ("0-0", "1-0", "2-0")


@pytest.mark.parametrize(("sizes", "most"), [((6, 5), 30), ((2,) * 8, 9), ((4, 4, 5, 4, 2, 5, 6, 4, 2, 4, 4), 45)])
def test_rows_are_few(sizes: tuple[int, ...], most: int) -> None:
    assert len(covering(factors(*sizes))) <= most


def test_nothing_to_choose_is_one_row() -> None:
    assert covering(()) == ((),)
