"""Who in the fleet sends far too much, from the rows of ``fleet.received``."""
