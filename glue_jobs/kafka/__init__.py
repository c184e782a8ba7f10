"""Kafka as Spark reads and writes it, and its admin client in the driver's JVM."""
