"""How many messages cross from one half of the tokens to the other in so many layers, and where they get stuck."""
