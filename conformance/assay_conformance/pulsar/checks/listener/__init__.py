"""Message listeners: handlers of the application that the client calls."""
