"""Labels of networks that work with a table of cells."""
