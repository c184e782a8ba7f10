"""The ``fleetlane`` command: one thin module a noun. What needs the checkout is imported late."""
