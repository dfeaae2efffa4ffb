"""Guha et al. 2023: Generalization bounds for MBP via sparse matrix sketching."""
