"""The functions: each a handler that routes, a service that decides, and its settings.

boto3 is imported as a function starts: left to ``clients.aws``, the first device would wait.
"""

import boto3  # noqa: F401 - as said above
