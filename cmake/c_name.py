"""What a model of the name in the first argument is called in C: its files and functions begin so.

Runs in the Python that has the compiler.
"""

import sys

from tigris_pio.compiler.codegen.names import prefix_of

print(prefix_of(sys.argv[1]))
