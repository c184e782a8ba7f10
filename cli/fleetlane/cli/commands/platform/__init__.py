"""``fleetlane up``, ``demo``, ``doctor``, ``status`` and ``verify``."""
