"""Figures of the examples' READMEs, by their networks in the board's arithmetic: `python -m tests.examples`."""

import numpy as np

from tests.examples import sensors
from tests.examples.sensors import GESTURE, PERSON, VIBRATION, part


def vibration() -> None:
    plan, machine = sensors.compiled(VIBRATION, "4K"), part(VIBRATION, "machine")
    for fault in (None, *machine.FAULTS):
        runs = [sensors.vibration(machine.Pump(seed).run(5, fault), plan) for seed in range(3000, 3040)]
        alarms = sum(any(line.endswith("alarm") for line in lines) for lines in runs)
        print(f"vibration-anomaly, {fault or 'in order'}: an alarm in {alarms} of {len(runs)} runs of 5 s")


def gesture() -> None:
    plan, hand, total, streams = sensors.compiled(GESTURE, "4K"), part(GESTURE, "hand"), 0, 0
    for seed in range(1000, 1030):
        samples, gestures = hand.stream(60, seed)
        told = [line for line in sensors.gesture(samples, plan) if line != hand.NAMES[0]]
        streams += told == [hand.NAMES[name] for name, _, _ in gestures]
        total += len(gestures)
    print(f"gesture-1d: {total} gestures, each told and nothing else in {streams} of 30 minutes")


def person() -> None:
    plan, camera = sensors.compiled(PERSON, "16K"), part(PERSON, "camera")
    pictures, persons = part(PERSON, "scenes").scenes(400, 4000)
    lines = sensors.person([camera.lines(picture) for picture in pictures], plan)
    seen = np.array([line.endswith("person") for line in lines])
    print(f"person-detection-esp32s3-camera: {seen[persons].mean():.1%} of {persons.sum()} persons seen, "
          f"{seen[~persons].mean():.1%} false among {(~persons).sum()} pictures without")  # fmt: skip


if __name__ == "__main__":
    vibration()
    gesture()
    person()
