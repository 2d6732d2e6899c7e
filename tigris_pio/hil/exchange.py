"""One inference on a board: writes the inputs, runs, and reads the outputs, all as stored."""

from collections.abc import Mapping

import numpy as np

from tigris_pio.hil.client import Board, ModelInfo, RunInfo
from tigris_pio.host import Session
from tigris_pio.host.io import Array


def write_inputs(board: Board, session: Session, model: ModelInfo, inputs: Mapping[str, Array]) -> bytes:
    """Writes all inputs of a model and returns them, one after another. Streamed inputs travel during the run."""
    written = b""
    for index, io in enumerate(session.inputs):
        data = np.ascontiguousarray(io.check_stored_array(inputs[io.name])).tobytes()
        if session.is_streamed(io):
            board.streamed_inputs[index] = data
        else:
            board.write_input(model.index, index, data)
            written += data
    return written


def run_on_board(
    board: Board, session: Session, model: ModelInfo, inputs: Mapping[str, Array], clear_profile: bool = False
) -> tuple[RunInfo, dict[str, Array]]:
    """Runs one inference on the board."""
    write_inputs(board, session, model, inputs)
    run = board.run(model.index, clear_profile)
    outputs: dict[str, Array] = {}
    for index, io in enumerate(session.outputs):
        if session.is_streamed(io):
            data = bytes(board.streamed_outputs[index])
        else:
            data = board.read_output(model.index, index, io.stored_bytes)
        outputs[io.name] = np.frombuffer(data, io.stored_dtype).reshape(io.stored_shape)
    return run, outputs
