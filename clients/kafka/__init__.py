"""Kafka as functions and operators reach it, through librdkafka."""
