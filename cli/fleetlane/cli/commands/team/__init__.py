"""``fleetlane team``."""
