"""For every clause of the screen, words that only it flags."""

from __future__ import annotations

from typing import Any

from assay_conformance.ledger.clauses import Restart

WANTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "lost": ({"sb": 1, "rb": 1, "bb": 1, "bn": 1}, {"whole": 1}),
    "phantom": ({"db": 1, "fb": 1, "fn": 1}, {}),
    "stored_phantom": ({"bb": 1, "bn": 1}, {}),
    "failed_stored": ({"sb": 1, "xb": 1, "bb": 1, "bn": 1}, {}),
    "failed_delivered": ({"sb": 1, "xb": 1, "db": 1, "fb": 1, "fn": 1}, {}),
    "ok_unstored": ({"sb": 1, "rb": 1, "db": 1, "fb": 1, "fn": 1}, {"read_back": 1}),
    "corrupt": ({"sb": 1, "db": 1, "fb": 1, "fn": 1, "bad": 1}, {}),
    "unlike": ({"sb": 1, "db": 1, "fb": 1, "fn": 1, "sx": 5, "dx": 6}, {"self_checking": 0}),
    "twice": ({"sb": 1, "db": 1, "fb": 1, "fn": 2}, {}),
    "unasked": ({"sb": 1, "db": 1, "mb": 1}, {}),
    "too_often": ({"sb": 1, "db": 1, "mb": 1, "nb": 1, "ab": 1, "an": 1, "mr": 9}, {"max_redeliv": 3}),
    "stored_twice": ({"sb": 1, "bb": 1, "bn": 2}, {"dedup": 1}),
    "disorder": ({"sb": 1, "db": 1, "fb": 1, "fn": 1, "badgap": 1}, {"ordered": 1}),
    "stored_disorder": ({"sb": 1, "rb": 1, "badord": 1}, {"ordered": 1}),
    "key_disorder": ({"sb": 1, "db": 1, "fb": 1, "fn": 1, "badkgap": 1}, {"keyed": 1}),
    "too_early": ({"sb": 1, "least_nack_us": 150_000}, {"shared": 1, "nack_delay": 200_000}),
    "never_again": ({"sb": 1, "nb": 1}, {}),
    "left": ({"sb": 1, "db": 1, "fb": 1, "fn": 1}, {"acks": 1}),
    "acked_again": ({"sb": 1, "db": 1, "ab": 1, "an": 1, "kb": 1}, {"acks": 1}),
    "outlived": ({"ab": 1, "an": 1, "least_done_us": 5, "last_us": 50}, {"restarts": (Restart(10, 20),)}),
    "acked_twice": ({"sb": 1, "db": 1, "ab": 1, "an": 2}, {"acks": 1}),
    "not_counted": ({"sb": 1, "db": 1, "ab": 1, "an": 1, "uncounted": 1}, {"shared": 1}),
    "before_time": ({"sb": 1, "least_due_us": -9_000}, {"shared": 1, "due_early_us": 1_000}),
}
"""Clause -> words and scope that call for a look by this clause alone."""

IMPLIED = {"at_once": "too_early"}
"""Clauses of another requirement that hold only where this one does; they say for which requirement to look."""
