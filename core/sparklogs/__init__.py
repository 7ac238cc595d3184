"""The log formats that Spark writes, each read in one place."""
