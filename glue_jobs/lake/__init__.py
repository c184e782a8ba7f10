"""What the topics hold, kept for good: Iceberg tables with one row an id."""
