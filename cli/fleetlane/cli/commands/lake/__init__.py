"""``fleetlane lake``."""
