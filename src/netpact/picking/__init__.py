"""Sample compression: a recipe picks the samples that it needs, and the bound pays for how many they are."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
