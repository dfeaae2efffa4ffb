"""What Arora et al. 2018 measure: each file adds rows to the table. Those named here come first, in this order."""

from netpact.papers.arora.quantities import cushions, interlayer, smoothness, effective  # noqa: F401, I001
