"""What is known of devices: registry, overrides, receipts."""
