"""Rounding bounds: how far a run in floating point can be from the exact one, and the errors counted with them."""
