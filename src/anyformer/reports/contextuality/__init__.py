"""Whether a model maps contexts apart: as data, as text, as pictures, and as a page."""
