"""The acknowledgment time-out: what an application holds for too long is asked for again, and nothing else is."""
