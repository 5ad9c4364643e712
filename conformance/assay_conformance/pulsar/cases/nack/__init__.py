"""Cases of the chapter nack."""
