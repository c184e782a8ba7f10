"""What a flow or a parser may use up: time, and child processes."""
