"""The order operators run in: candidates for the search, among them one of the least peak."""
