"""Cases of the chapter producer."""
