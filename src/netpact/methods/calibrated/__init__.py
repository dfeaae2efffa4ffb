"""Rounding layer by layer on calibration inputs: what each layer sees, its steps, its symbols."""
