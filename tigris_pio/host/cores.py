"""Runs operators on two threads, as a board does on two cores."""

from concurrent.futures import ThreadPoolExecutor, wait

from tigris_pio.host import library


class Cores:
    """The parallel hook of a session: one half of the rows runs in the thread that runs the session, one in another.

    calls: kernel calls that both shared, over all runs
    """

    def __init__(self) -> None:
        self.calls = 0
        self._other = ThreadPoolExecutor(1, "tigris-core")
        self.hook = library.ParallelHook(self._parallel)  # referenced here as long as the session uses it

    def _parallel(self, _: int | None, work: int, argument: int) -> None:
        run = library.Work(work)  # ctypes releases Python's lock during the call
        other = self._other.submit(run, argument, 1)
        try:
            run(argument, 0)
        finally:
            wait((other,))  # until then it writes to the session's memory
        self.calls += 1

    def close(self) -> None:
        """Ends the second thread."""
        self._other.shutdown()
