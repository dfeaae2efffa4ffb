"""The bounds that the paper states, theorem by theorem."""
