"""One file for each figure or table of the paper that is reproduced."""
