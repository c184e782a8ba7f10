"""Which devices send far too much, from the rows of ``fleet.received``."""
