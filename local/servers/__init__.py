"""The servers of a laptop as child processes: broker, LocalStack, gateway."""
