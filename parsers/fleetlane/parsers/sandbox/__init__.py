"""Running a parser within its limits, and telling apart the ways in which it can fail."""
