"""Spark jobs. Each runs alone by its ``main.py``, or beside others by ``host.py``."""
