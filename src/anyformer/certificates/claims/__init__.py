"""What is claimed of a network, in full: the certificate, and the statements in it."""
