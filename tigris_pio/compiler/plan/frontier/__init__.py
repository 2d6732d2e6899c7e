"""The frontier of a program: the cheapest schedule for every amount of fast memory, by live bytes."""
