"""For teams that read events: batches, which events count, hours shared by claims, programs."""
