"""The cells of a table: grids, sequences of columns, values, and how much error a grid leaves."""
