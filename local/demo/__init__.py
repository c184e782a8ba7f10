"""The demonstration: the whole platform under a simulated fleet, and its ledger."""
