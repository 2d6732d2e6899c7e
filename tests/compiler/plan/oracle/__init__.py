"""The cheapest plans of small programs, by which the planner's search is judged."""
