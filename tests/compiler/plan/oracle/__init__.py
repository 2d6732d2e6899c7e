"""Every plan of a small program there is, by which the planner's search is judged."""
