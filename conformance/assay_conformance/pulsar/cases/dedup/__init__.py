"""Cases of the chapter dedup."""
