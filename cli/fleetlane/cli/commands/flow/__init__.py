"""``fleetlane flow``."""
