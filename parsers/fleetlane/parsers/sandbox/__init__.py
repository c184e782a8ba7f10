"""Running parsers within their limits, and telling apart the ways in which they can fail.

``platforms`` gives what parses. In a worker that is ``worker.sandboxes``: its zygote forks the
``worker.children``, ``worker.feeding`` gives a child its messages, ``worker.parser_child`` watches
it, and ``child.attempts`` is what runs in it. What both sides use is here.
"""
