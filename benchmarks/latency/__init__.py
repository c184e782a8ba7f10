"""Latency from produce to canonical, lane by lane: ``make bench-latency``.

``cluster`` starts each lane's application on its core, ``traffic`` sends and reads what came out,
``percentiles`` makes numbers of it, ``__main__`` says what is sent in which phase.
"""
