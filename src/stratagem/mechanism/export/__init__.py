"""Export: mechanisms in the words and files of other systems."""
