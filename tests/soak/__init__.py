"""The soak: mixed traffic for hours, a fault every few minutes, and what became of all of it."""
