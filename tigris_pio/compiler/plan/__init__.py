"""The planner: from a lowered program and a budget to an execution plan."""
