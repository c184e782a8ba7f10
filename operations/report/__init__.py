"""The fleet report: one HTML page that needs nothing else, to be looked at for a minute."""
