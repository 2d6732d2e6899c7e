"""The front end for TensorFlow Lite files.

    file.py          flatbuffer    -> plain data; trusts no offset, index or size
    annotation.py    a tensor's type and quantisation -> those of the graph
    constants.py     buffers       -> arrays: packed, half precision and sparse ones too
    sparse.py        sparse constants made dense
    network.py       the graph in the making
    variables.py     what is kept from run to run
    layer.py         one operator, as its handler sees it
    walk.py          a subgraph's operators, one after the other
    operators/       one file a family of operators; registry.py says how one is added
    model.py         all of it: file -> Graph
"""
