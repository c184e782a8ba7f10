"""Restarts the Spark jobs that a deploy changed, and says whether they run."""
