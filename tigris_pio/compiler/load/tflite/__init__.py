"""The front end for TensorFlow Lite files.

    model.py         load_tflite(): file -> Graph
    file.py          flatbuffer -> plain data, with every offset, index and size checked
    subgraph.py      calls a handler for each operator of a subgraph
    layer.py         Layer: one operator, as its handler sees it
    network.py       Network: the graph while it is built
    operators/       handlers, a file for each family of operators; registry.py says how to add one
    annotation.py    a tensor's type and quantisation in the graph
    constants.py     buffers -> arrays, also packed, half precision and sparse ones (sparse.py)
    custom.py        options of custom operators
    variables.py     variables, which become states of the graph
"""
