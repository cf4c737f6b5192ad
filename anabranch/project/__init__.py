"""Project files: a folder that says which stream tables there are to be."""
