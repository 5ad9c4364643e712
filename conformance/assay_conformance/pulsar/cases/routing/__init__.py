"""Cases of the chapter routing."""
