"""For who writes parsers: trying one, and holding it to its contract.

A team's own pytest needs ``checking`` alone: ``check_folder`` is a whole test. The ``fleetlane
parser`` commands stand on the rest. What is tried runs in a process of its own
(``parser_process``), which on Linux has the sandbox that the jobs have.
"""
