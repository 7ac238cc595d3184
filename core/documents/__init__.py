"""Every answer of the command line as a JSON document."""
