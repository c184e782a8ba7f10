"""The simulated fleet: devices, their keys, and what they send."""
