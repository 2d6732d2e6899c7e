"""Stages 3 to 6: from a lowered program and a budget to an execution plan."""
