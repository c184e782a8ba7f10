"""``fleetlane up``, ``demo``, ``doctor`` and ``status``."""
