"""Cases of the chapter resend."""
