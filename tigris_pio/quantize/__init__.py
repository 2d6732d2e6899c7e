"""Quantises a float model to int8 by onnxruntime's static quantisation, with settings that this compiler runs in int8.

    samples      arrays or images               -> calibration and held-out samples     samples.py, images.py
    prepare      ONNX file                      -> float model, shapes bound and folded prepare.py
    calibrate    float model, samples           -> the range of every tensor            calibrate.py
    build        float model, ranges            -> int8 model, some layers kept float   build.py
    compare      both models, held-out samples  -> the error of each layer and output   compare.py
    search       all of these                   -> the fewest layers to keep in float   search.py

`workflow.py` runs them in this order.
"""
