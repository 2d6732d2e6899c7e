"""Prints the C name of the model in the first argument: the prefix of its files and functions.

add_model.cmake runs it in the compiler's Python.
"""

import sys

from tigris_pio.compiler.codegen.names import prefix_of

print(prefix_of(sys.argv[1]))
