"""Attacks of devices on a running platform, and what honest devices notice of them."""
