"""What goes over a line, for people: `decoder` tells text from frames, `wording` puts these into words, `tap` lets
others in."""
