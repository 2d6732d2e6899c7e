"""Predicted instructions: a table of coefficients by processor and kernel, and the amounts that they multiply."""
