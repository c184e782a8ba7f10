"""Questions to the lake about the fleet. Each module holds those of one kind, SQL and meaning."""
