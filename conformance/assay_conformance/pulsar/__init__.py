"""What belongs to Apache Pulsar."""
