"""What every job runs on: session, supervisor, listeners, checkpoints, metrics."""
