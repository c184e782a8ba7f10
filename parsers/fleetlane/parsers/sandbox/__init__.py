"""Running parsers within their limits, and telling apart the ways in which they can fail.

``sandboxes_for_this_system`` gives what parses. A worker's ``sandbox.Sandboxes`` has a zygote
(``zygote``), which forks a child a parser (``child``). ``feeding`` gives a child its messages,
``parser_child`` watches it, and ``attempts`` is what runs in it.
"""
