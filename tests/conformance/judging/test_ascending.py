"""What lies before a key."""

from __future__ import annotations

from assay_conformance.judging.ascending import Ascending


def _with(*keys: int) -> Ascending[tuple[int], str]:
    found = Ascending[tuple[int], str]()
    for key in keys:
        found.put((key,), str(key))
    return found


def test_keys_before_one_are_found_in_order_whenever_they_were_put() -> None:
    assert _with(3, 1, 2, 5).keys_before((3,)) == [(1,), (2,)]


def test_a_key_that_was_popped_is_not_found() -> None:
    there = _with(1, 2)
    there.pop((1,))
    assert there.keys_before((9,)) == [(2,)]


def test_a_key_that_is_put_once_more_is_found_once() -> None:
    there = _with(1)
    there.pop((1,))
    there.put((1,), "again")
    assert there.keys_before((9,)) == [(1,)]
