"""The command line: what a person or a script does with a lake, without writing Python."""
