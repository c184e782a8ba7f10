"""From Arrow batches of raw records to runs of messages for one parser."""
