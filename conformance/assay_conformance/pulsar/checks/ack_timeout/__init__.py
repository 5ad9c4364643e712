"""The acknowledgment time-out: what an application holds for too long is requested again, and nothing else is."""
