"""``fleetlane parser``."""
