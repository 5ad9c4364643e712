"""Judging, independent of the protocol: certainty, the patterns that clauses follow, and tolerances of time bounds."""
