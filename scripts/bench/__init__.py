"""Measures how checkpoints are read: a generator of large ones, a slow S3, a latency proxy, and the
comparison of two ways to read."""
