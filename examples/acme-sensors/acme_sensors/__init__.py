"""Parsers of an imagined maker of sensors, as a firmware team would write them."""
