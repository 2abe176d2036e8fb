"""Labels of networks that compute a program: compiled ones, and interpolants."""
