"""What benchmarks of the running job share.

``services`` starts a broker and S3, ``application`` the job by spark-submit as it is shipped,
``messages`` makes flows and messages whose parser does what the message says, ``watched`` looks at
how far an application is and what it took.
"""
