"""Judging, whatever the protocol: what is certain, the patterns that clauses follow, and what bounds tolerate."""
