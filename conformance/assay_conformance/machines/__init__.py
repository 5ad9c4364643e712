"""Cases nobody wrote by hand: strategies and machines that draw them, the reducer that makes a failing one small."""
