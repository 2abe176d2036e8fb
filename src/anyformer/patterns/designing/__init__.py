"""The cheapest pattern for a length, a depth and a capacity."""
