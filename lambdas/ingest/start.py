"""What Lambda imports: ingest's handler, which is ready before the first request comes.

Importing this module connects, unlike others: Lambda gives a function that time for nothing else,
and a request could not wait as long as a login by IAM takes when many functions start at once.
"""

from lambdas.ingest.handler import handle, prepare

__all__ = ["handle"]

prepare()
