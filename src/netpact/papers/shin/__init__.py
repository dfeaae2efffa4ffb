"""Shin 2021: Compressing heavy-tailed weight matrices for non-vacuous generalization bounds."""
