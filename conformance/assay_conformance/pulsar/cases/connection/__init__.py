"""Cases of the chapter connection."""
