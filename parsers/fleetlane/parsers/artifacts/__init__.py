"""Parser artifacts: a team's package and what it needs, as one zip that jobs fetch and unpack.

``building`` makes one of a project, ``writing`` writes the zip, and makes it a folder for
``sys.path`` again. Its manifest is ``fleetlane.events.flows.artifacts``.
"""
