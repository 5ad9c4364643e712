"""Cases of the chapter seek."""
