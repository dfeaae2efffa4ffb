"""Weights drawn and estimated again from noisy samples: what Figures 3 and 7 show."""
