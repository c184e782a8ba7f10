"""What a deploy uploads, built without Docker: functions, Spark jobs, and our own wheels.

docs/engines.md ("What a deploy uploads") says what each engine gets of it.
"""
