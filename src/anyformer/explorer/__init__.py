"""The explorer page: one self-contained HTML file in which a person sees the proof of one model at work."""

from anyformer.explorer.making import explore
from anyformer.explorer.page import Page

__all__ = ["Page", "explore"]
