"""``fleetlane fleet``."""
