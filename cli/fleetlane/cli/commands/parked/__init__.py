"""``fleetlane parked``."""
