# make demo    set everything up, compile and flash the digits example to an emulated board, check its outputs
# make demo-wake-word   the same with the wake word, which listens to synthesised sound
# make demo-vibration   with pumps that an accelerometer feels; demo-gesture: with gestures that an IMU does;
# make demo-person      with pictures whose lines a camera sends
# make test    set everything up and run the tests, a few of each kind, in PROCESSES=2 processes
# make test-all     all tests: every case of the tables, every network, every shape on the emulated machines
# make test-times   the processor seconds of the last run's tests, by folder and file
# make test-vendor   the tests that need ESP-NN, CMSIS-NN, ESP-IDF or espressif32, as variables name them
# make bench   the memory of every network, its instructions and cycles on emulated boards, how much of a serial line's rate the harness
#              uses, whether more memory makes a plan worse, what each mechanism of the planner is worth;
#              BENCH_ARGS="--machines rv32imc --ops"
# make zoo     models of torch, Keras, onnxruntime, ai-edge-quantizer and skl2onnx, each exporter in an environment of its own: does it
#              compile, is it right? EXPORTERS="torch sklearn"
# make fuzz    feed the runtime damaged plans and hostile bytes; random graphs against onnxruntime, random operators
#              against TensorFlow Lite Micro, the harness over a line with faults; SECONDS=60
# make mutants  would the tests notice? faults put in one at a time, and the tests that must see them; AREAS="runtime"
# make dist    wheels that need no C compiler, for Linux, Windows and macOS
# make release the wheels, the PlatformIO library, the ESP-IDF component and the Arduino library, each installed in a clean folder and tried;
#              nothing is uploaded; RELEASE_ARGS="--only arduino"
# make generated   write every generated file again: headers, tables and pages that follow from Python
# make size    the code lines of each room beside its budget
# make docs    the documentation as a site, in build/site, for a browser or a web server
# make clean   remove what the others made, but for installed system packages

PYTHON ?= python3
SECONDS ?= 60
PROCESSES ?= 2

VENV_PYTHON := .venv/bin/python
# A core folder of our own: complete without PlatformIO's registry, and apart from the user's. Hundreds of short Python
# processes are started: what one has compiled the others shall find, also where the environment says not to write it.
PIO_SETTINGS := PYTHONDONTWRITEBYTECODE= PLATFORMIO_CORE_DIR="$(CURDIR)/.tigris/platformio" PLATFORMIO_SETTING_ENABLE_TELEMETRY=no \
                PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL=36500
EXAMPLE := examples/digits
DEMO_ARGS = --plan $(EXAMPLE)/.pio/build/$(BOARD)/tigris/digits.tgrs
BOARD := emu_rv32
FOLDER = $(EXAMPLE)/.pio/emulated/$(BOARD)
BOARD_PROCESS := tigris_pio/platformio/emulated/tools/board_process.py

.PHONY: demo demo-wake-word demo-vibration demo-gesture demo-person test test-all test-times test-vendor bench zoo fuzz mutants dist release generated size docs clean

demo:
	@$(PYTHON) tools/prepare.py demo
	@$(PIO_SETTINGS) $(VENV_PYTHON) -m platformio run -d $(EXAMPLE) -e $(BOARD) -t upload
	@$(VENV_PYTHON) $(EXAMPLE)/demo.py $(DEMO_ARGS) \
	    --port "$$($(VENV_PYTHON) $(BOARD_PROCESS) port --folder $(FOLDER))"; status=$$?; \
	$(VENV_PYTHON) $(BOARD_PROCESS) stop --folder $(FOLDER) >/dev/null; exit $$status

demo-wake-word: EXAMPLE := examples/wake-word
demo-vibration: EXAMPLE := examples/vibration-anomaly
demo-gesture: EXAMPLE := examples/gesture-1d
demo-person: EXAMPLE := examples/person-detection-esp32s3-camera
demo-wake-word demo-vibration demo-gesture demo-person: DEMO_ARGS :=
demo-wake-word demo-vibration demo-gesture demo-person: demo

test test-all:
	@$(PYTHON) tools/prepare.py test
	@$(PIO_SETTINGS) PATH="$(CURDIR)/.tigris/compilers:$(CURDIR)/.venv/bin:$$PATH" $(VENV_PYTHON) -m pytest \
	    -n $(PROCESSES) --tier $(TIER) $(PYTEST_ARGS)

test: TIER := fast
test-all: TIER := all

test-times:
	@$(VENV_PYTHON) -m tests.harness.spent

test-vendor:
	@$(PYTHON) tools/prepare.py test
	@$(PIO_SETTINGS) PATH="$(CURDIR)/.tigris/compilers:$(CURDIR)/.venv/bin:$$PATH" $(VENV_PYTHON) -m tests.vendor \
	    -n $(PROCESSES) $(PYTEST_ARGS)

bench:
	@$(PYTHON) tools/prepare.py test
	@$(VENV_PYTHON) -m bench.memory
	@$(VENV_PYTHON) -m bench.instructions --json .tigris/bench.json $(BENCH_ARGS)
	@$(VENV_PYTHON) -m bench.cycles
	@$(VENV_PYTHON) -m bench.mca
	@$(VENV_PYTHON) -m bench.plain_c
	@$(VENV_PYTHON) -m bench.line
	@$(VENV_PYTHON) -m bench.monotone
	@$(VENV_PYTHON) -m bench.ablation
	@$(VENV_PYTHON) -m bench.two_cores

zoo:
	@$(PYTHON) tools/prepare.py test
	@$(VENV_PYTHON) -m bench.exporters $(EXPORTERS)

fuzz:
	@$(PYTHON) tools/prepare.py fuzz
	@PYTHON="$(CURDIR)/$(VENV_PYTHON)" tests/runtime/fuzz/run.sh $(SECONDS)
	@$(VENV_PYTHON) -m tests.fuzz.run $(SECONDS)
	@$(VENV_PYTHON) -m tests.fuzz.tflite $(SECONDS)
	@$(VENV_PYTHON) -m tests.fuzz.hostile $(SECONDS)
	@$(VENV_PYTHON) -m tests.fuzz.line $(SECONDS)
	@$(VENV_PYTHON) -m pytest --tier fuzz tests

mutants:
	@$(PYTHON) tools/prepare.py test
	@$(PIO_SETTINGS) PATH="$(CURDIR)/.venv/bin:$$PATH" $(VENV_PYTHON) -m tests.mutants --processes $(PROCESSES) $(AREAS)

release:
	@$(PYTHON) tools/prepare.py release
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(VENV_PYTHON) tools/release.py $(RELEASE_ARGS)

dist:
	@$(PYTHON) tools/prepare.py dist
	@$(VENV_PYTHON) tools/dist.py

generated:
	@$(PYTHON) tools/prepare.py test
	@$(VENV_PYTHON) -m tools.generated

size:
	@$(PYTHON) -m tools.size

docs:
	@$(PYTHON) tools/prepare.py docs
	@PYTHONPATH="$(CURDIR)" NO_MKDOCS_2_WARNING=1 $(VENV_PYTHON) -m mkdocs build --strict
	@echo "build/site/index.html"

clean:
	rm -rf .venv .tigris build dist *.egg-info examples/*/.pio
