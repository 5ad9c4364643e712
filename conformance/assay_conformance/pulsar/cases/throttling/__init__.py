"""Cases of the chapter throttling."""
