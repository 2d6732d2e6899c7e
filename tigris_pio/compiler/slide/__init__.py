"""Windows that overlap: a program whose runs are given the new rows of a signal only.

The network is run on the last rows of a signal, again and again, each time `hop` rows later. Most rows of most maps
are then rows of the run before, moved: they are kept as states instead of made again. The outputs are those of the
whole window, exactly; where that needs rows made anew (padding) or all rows (a mean over time), these are made.

What streaming versions of networks are written by hand for (Rybakov et al., Streaming keyword spotting on mobile
devices, 2020) follows here from row maps; strides longer than the hop are the dilated rings of Giusti et al., Fast
image scanning with deep max-pooling convolutional neural networks, 2013.

    motion.py   which rows are rows of the run before
    pieces.py   which rows a run makes, which it keeps
    rebuild.py  the program that does
    window.py   the input, and what cannot slide
"""

from tigris_pio.compiler.slide.window import Slid, slide

__all__ = ["Slid", "slide"]
