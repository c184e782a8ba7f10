"""The bulk lane's rate, and what its floods cost others: ``make bench-bulk``.

``cause_traffic`` sends messages of each cause, ``drains`` says how fast the lane empties its
topics, ``deferrals`` reads what exceeded its flow's budget; ``__main__`` says what is sent in
which phase.
"""
