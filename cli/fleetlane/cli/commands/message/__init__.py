"""``fleetlane send``, ``tail``, ``why``, ``replay`` and ``unblock``."""
