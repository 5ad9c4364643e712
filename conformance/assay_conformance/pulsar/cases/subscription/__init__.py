"""Cases of the chapter subscription."""
