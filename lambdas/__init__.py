"""The functions: each a handler that routes, a service that decides, and its settings.

boto3 is imported as a function starts: ``clients.aws`` would do so at its first request, for which
a device waits.
"""

import boto3  # noqa: F401 - as said above
