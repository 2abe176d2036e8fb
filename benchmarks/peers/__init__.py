"""The programs we are compared with, one file a peer. Each offers several ways to write the same layers."""
