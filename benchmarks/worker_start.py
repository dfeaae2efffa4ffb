"""What a worker of benchmarks/workers.py does before it is timed. In a file of its own, which workers can import."""

from __future__ import annotations


def load_libraries() -> None:
    import netpact.experiments
    import netpact.network.error_counting
    import netpact.papers.li.studying  # noqa: F401 - for its sake
