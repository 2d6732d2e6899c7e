"""Would the tests notice? Small faults put into a copy of the project, one at a time, and the tests that must see them.

    python -m tests.mutants [AREA ...] [--only NAME] [--tier fast] [--processes 2]

A module a part of the project lists its faults: text of a file, what it becomes, and the tests to run.
"""
