"""Bringing what was spooled to Kafka, once Kafka takes it again."""
