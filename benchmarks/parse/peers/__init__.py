"""Programs for other frameworks. Each runs in an environment of its own (``environments``)."""
