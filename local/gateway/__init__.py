"""API Gateway (REST, v1) on 127.0.0.1: the real functions behind it, called as API Gateway does."""
