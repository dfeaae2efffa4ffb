"""Quantities of the paper, as rows of the table."""
