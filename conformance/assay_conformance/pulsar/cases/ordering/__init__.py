"""Cases of the chapter ordering."""
