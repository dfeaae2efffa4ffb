"""search: the file with the lowest certified bound within a time budget, and the ledger of everything tried."""

from netpact.exploration.candidates import candidate_names
from netpact.exploration.presets import PRESETS, Preset, find_preset
from netpact.exploration.searching import SearchResult, search
from netpact.exploration.trials import Trial

__all__ = ["PRESETS", "Preset", "SearchResult", "Trial", "candidate_names", "find_preset", "search"]
