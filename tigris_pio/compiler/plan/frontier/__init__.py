"""The frontier of a program: for every amount of fast memory the cheapest schedule, told by live bytes."""
