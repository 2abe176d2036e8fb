"""A battery that hunts: networks, claims and functions made to fool the checker, judged by arithmetic of its own."""
