"""Who is this device? API Gateway asks before it lets a request through."""
