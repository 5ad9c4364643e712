"""Cases of the chapter ack."""
