"""Streaming models (`--hop`): a program whose runs receive the new rows of a signal only.

Without a hop each run reads the whole input window. With one, the window of a run begins `hop` rows after that of the
run before. Most rows of most tensors then equal rows of that run at another place. States keep these rows. The outputs
equal those of the whole window. Each run computes rows that padding reaches, and results of all rows, such as a mean.

Row maps give the streaming network that Rybakov et al., Streaming keyword spotting on mobile devices, 2020, write by
hand. Strides longer than the hop give dilated rings, as in Giusti et al., Fast image scanning with deep max-pooling
convolutional neural networks, 2013.

    input_window.py  entry: checks the input, calls the others, warns of what does not slide
    motion.py        tensors that slide, with stride and inner rows
    pieces.py        rows that a run makes, and rows that it keeps
    silence.py       rows of sliding tensors while the signal is silent
    rebuild.py       the new program
"""

from tigris_pio.compiler.slide.input_window import SlidingProgram, slide

__all__ = ["SlidingProgram", "slide"]
