"""Certify and verify: what a file states, and what was there before the certified samples."""
