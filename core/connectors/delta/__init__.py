"""Delta tables: the log, read without a JVM, and the position of a source against it."""
