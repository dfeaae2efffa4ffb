"""Arora, Ge, Neyshabur and Zhang 2018: Stronger generalization bounds for deep nets via a compression approach."""
