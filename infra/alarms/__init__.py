"""Alarms, the metrics that they watch, and the dashboard."""
