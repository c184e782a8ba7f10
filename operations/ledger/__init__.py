"""The ledger: what devices were promised, compared with what is in Kafka; by id, not by count."""
