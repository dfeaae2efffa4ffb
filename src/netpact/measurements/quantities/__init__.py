"""Quantities of no paper in particular: each file adds rows to the table."""
