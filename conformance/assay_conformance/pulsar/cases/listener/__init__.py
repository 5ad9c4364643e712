"""Cases of the chapter listener."""
