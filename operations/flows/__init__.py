"""Flows published and rolled back, and described: contracts, a graph, a team's policy."""
