"""What Spark's real-time mode does that the fast lane relies on, and its own documents do not say.

Spark's list of operators for this mode has no Python in it. Each test here holds what was seen of
one version, and fails where another behaves otherwise: then the lane is to be looked at again.
"""
