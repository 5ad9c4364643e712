"""Cases of the chapter chunking."""
