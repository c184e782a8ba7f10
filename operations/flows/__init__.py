"""Publishing flows and looking at deployed parsers."""
