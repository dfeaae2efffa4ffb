from netpact.exploration.candidates import candidate_names as candidate_names
from netpact.exploration.presets import PRESETS as PRESETS
from netpact.exploration.presets import Preset as Preset
from netpact.exploration.presets import find_preset as find_preset
from netpact.exploration.searching import SearchResult as SearchResult
from netpact.exploration.searching import search as search
from netpact.exploration.trials import Trial as Trial
