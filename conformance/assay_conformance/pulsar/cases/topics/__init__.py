"""Cases of the chapter topics."""
