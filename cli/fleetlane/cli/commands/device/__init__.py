"""``fleetlane device``."""
