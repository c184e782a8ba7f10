"""For authors of parsers: trying one, and checking it against its contract.

A team's own pytest needs ``checking`` alone: ``check_folder`` is a whole test. The ``fleetlane
parser`` commands use the rest. What is tried runs in a process of its own
(``parser_process``), which on Linux has the sandbox that the jobs have.
"""
