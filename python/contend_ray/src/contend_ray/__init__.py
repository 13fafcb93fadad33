"""Has a Ray cluster make the runs of `contend sweep --executor ray`, which starts and talks to it."""
