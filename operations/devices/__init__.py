"""What operators do with devices: import, keys, quarantine, erasure."""
