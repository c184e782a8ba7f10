"""Access to the MSK cluster."""
