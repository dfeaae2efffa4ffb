"""netpact: a small network, and a guarantee about it.

    data + nn.Module --trace--> Network --compress--> Compressed --seal--> Pact
    Pact + data --certify--> Pact with Certificate --verify--> Verdict

Names are loaded when they are first used: importing netpact does not import torch. `__init__.pyi` lists them with their
places. No submodule has the name of a verb: importing it would hide the verb.
"""

from netpact.core import former_places
from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
former_places.install()
