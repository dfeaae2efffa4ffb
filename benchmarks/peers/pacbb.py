"""pacbb, a library of PAC-Bayes bounds with Gaussian posteriors: can what the package index holds be used?"""

from __future__ import annotations

from pathlib import Path

from environments import installed_version, make_environment, run

from netpact.core.errors import PactError

REQUIREMENTS = ("torch", "pacbb==0.1.2")
# What its own README imports to build a probabilistic network.
_NEEDED = ("core.model", "core.distribution", "core.bound", "core.objective", "core.risk")


def try_pacbb(folder: Path) -> str:
    """One sentence on what happened."""
    try:
        python = make_environment(folder / "pacbb-environment", REQUIREMENTS)
    except PactError as error:
        return f"could not be installed: {error}"
    missing = []
    for module in _NEEDED:
        try:
            run([str(python), "-c", f"import {module}"], where=module)
        except PactError as error:
            missing.append(f"import {module} {error.what}")
    version = installed_version(python, "pacbb")
    if missing:
        return f"pacbb {version} was installed but cannot be used: {'; '.join(missing)}"
    return f"pacbb {version} can be imported: compare it here"
