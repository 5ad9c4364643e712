"""What a front counted since a fault began."""

from __future__ import annotations

from assay_faults.forwarder import Carried


def test_what_was_counted_since_is_each_number_less_what_it_was() -> None:
    then, now = Carried(1, 0, 100, 50), Carried(3, 1, 150, 50)
    assert now.since(then) == Carried(2, 1, 50, 0)
