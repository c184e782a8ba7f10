"""What a deploy uploads, built without Docker: functions, Spark jobs, and our own wheels.

A function's zip holds all that it imports: boto3 too, as locked, for the runtime's changes under
us, but with only the AWS services that we call. The jobs' own code is one zip of pure Python for
all engines (``--extra-py-files`` on Glue, ``--py-files`` elsewhere), parsers' entry points too.
What the engines lack is compiled and cannot be imported from a zip: Glue installs it without a
network from a zip of wheels (``--additional-python-modules`` with it, and
``--python-modules-installer-option --no-index``); for a spark-submit on a laptop the same packages
are a folder to unpack. On EMR the jobs run in a Python environment of ours with all packages, and
with a Python where ``make python-for-emr`` fetched one (``fleetlane-environment.zip#environment``).
Spark's Kafka connector goes along as jars, the versions that we test (``--extra-jars`` on Glue,
``--jars`` elsewhere), which hold no class that an engine has.
"""
