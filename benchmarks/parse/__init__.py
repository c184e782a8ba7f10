"""The parse job against others that do the same work: ``make bench-parse``.

``__main__`` runs the contenders in turn against one broker. ``contenders`` says how each is
started, ``trial`` measures one, ``report`` makes the ratios. All of them read what ``workload``
wrote, and write what ``plain_work`` (the job's own functions, called in a loop) gives.
"""
