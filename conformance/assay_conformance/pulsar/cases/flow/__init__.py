"""Cases of the chapter flow."""
