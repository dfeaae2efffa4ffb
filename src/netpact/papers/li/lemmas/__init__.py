"""Lemmas D.4, E.8 and F.3: measured errors of a compressed network beside what the lemmas say of them."""
