"""Drawn Cases: strategies and machines that draw them, and the reducer that makes a failing one small."""
