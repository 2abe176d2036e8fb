"""Methods and tolerances side by side: data, text and pictures."""
