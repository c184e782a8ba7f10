"""What runs in the Spark worker: feeding children, watching them, reading their replies."""
