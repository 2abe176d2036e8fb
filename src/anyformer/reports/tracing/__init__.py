"""One input on its way through a network, as data and as text."""
