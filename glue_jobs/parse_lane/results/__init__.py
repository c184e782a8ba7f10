"""From attempts to the records that the sink writes."""
