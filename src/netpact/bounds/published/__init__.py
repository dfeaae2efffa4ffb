"""Bounds from the weights and the margins alone: baselines of many papers, one file for the authors of each."""
