#!/bin/sh
# Fuzzes the runtime with damaged plans: run.sh SECONDS [CORPUS], seconds of processor time; then for half of that each with
# the kernels for Arm's DSP instructions and for the ESP32-S3's vectors, C in their place, and for a quarter each with the
# adapters of kernel libraries: stand-ins for ESP-NN and CMSIS-NN, or the real ones where TIGRIS_ESP_NN and
# TIGRIS_CMSIS_NN name checkouts; for a fifth, the records of a model's two slots and what comes to them; for a tenth
# each, the decompressor alone and the board's side of the serial line.
# Needs clang and the project's Python.
# Findings are left in .tigris/fuzz/crashes; the exit status is libFuzzer's. To keep what a long run found:
# python -m tests.runtime.fuzz.keep .tigris/fuzz/fuzz_plan .tigris/fuzz/corpus .tigris/fuzz/crashes
set -eu
seconds=${1:?usage: run.sh SECONDS [CORPUS]}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$root/.tigris/fuzz
corpus=${2:-$work/corpus}
case $corpus in /*) ;; *) corpus=$PWD/$corpus ;; esac
python=${PYTHON:-$root/.venv/bin/python}
[ -x "$python" ] || python=python3
command -v clang >/dev/null || { echo "fuzzing needs clang: apt install clang" >&2; exit 1; }
mkdir -p "$corpus" "$work/crashes"
(cd "$root" && "$python" -m tests.runtime.fuzz.seeds "$corpus" && "$python" -m tests.hil.fuzz_seeds "$work/serve")
# Relative, so that none has a space.
cd "$root"
fuzz=tests/runtime/fuzz

# build PROGRAM FLAG_OR_SOURCE...
build() {
    program=$1
    shift
    clang -std=c99 -g -O1 -fsanitize=fuzzer,address,undefined,float-cast-overflow -fno-sanitize-recover=all \
        -DTIGRIS_TENSOR_ALIGN=4 -D_POSIX_C_SOURCE=200809L -Iruntime/include -Iruntime/src "$@" -lm -o "$work/$program"
}

# fuzz PROGRAM SECONDS MOST_BYTES CORPUS
fuzz() {
    mkdir -p "$4"
    # -timeout is for what waits: run_plan.c measures work.
    "$work/$1" -max_len="$3" -timeout=600 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$work/crashes/" "$4" &
    program=$!
    # The signal ends it with its statistics, and 0.
    { while [ "$(ps -o cputimes= -p $program)" -lt "$2" ]; do sleep 1; done && kill -USR1 $program; } 2>/dev/null &
    wait $program
}

# build_backend PROGRAM NAME: the flags and files of a library come from the tests, one a line.
build_backend() {
    "$python" -m tests.runtime.backends.libraries "$2" > "$work/$1.args"
    # A library may compute what it likes from values; where it reads and writes is looked at.
    xargs -a "$work/$1.args" clang -std=gnu99 -w -g -O1 -fsanitize=fuzzer,address -fno-sanitize-recover=all \
        -DTIGRIS_TENSOR_ALIGN=4 -D_POSIX_C_SOURCE=200809L -Iruntime/include -Iruntime/src $plan_sources -lm -o "$work/$1"
}

# Small arenas: thousands of runs a second.
plan_sources="-DTIGRIS_YIELD_STEPS=64U -DRUN_PLAN_LARGEST_ARENA=262144U $fuzz/fuzz_plan.c $fuzz/run_plan.c $(find runtime/src -name '*.c' ! -name 'serve*')"
# shellcheck disable=SC2086
build fuzz_plan $plan_sources
# shellcheck disable=SC2086
build fuzz_plan_dsp -include tests/runtime/dsp_in_c.h $plan_sources
# shellcheck disable=SC2086
build fuzz_plan_pie -DTIGRIS_PIE -DTIGRIS_DEFAULT_BACKEND=tigris_pie_backend tests/runtime/pie_in_c.c $plan_sources
build_backend fuzz_plan_esp_nn esp-nn
build_backend fuzz_plan_cmsis_nn cmsis-nn
build fuzz_lz4 "$fuzz/fuzz_lz4.c" runtime/src/lz4.c runtime/src/move.c
build fuzz_serve tests/hil/fuzz_serve.c tests/hil/standin.c $(find runtime/src -name "serve*.c") runtime/src/crc32.c
"$python" -m tests.update.plans "$work"
port="runtime/port/model.c runtime/port/slots.c runtime/port/slot_log.c runtime/port/update.c"
loader="runtime/src/plan.c runtime/src/extents.c runtime/src/records.c runtime/src/band.c runtime/src/crc32.c runtime/src/status.c"
# shellcheck disable=SC2086
build fuzz_records tests/update/fuzz_records.c "$work/fuzz_plan.c" -I"$work" -Iruntime/port $port $loader
fuzz fuzz_plan "$seconds" 16384 "$corpus"
fuzz fuzz_plan_dsp $((seconds / 2 + 1)) 16384 "$corpus"
fuzz fuzz_plan_pie $((seconds / 2 + 1)) 16384 "$corpus"
fuzz fuzz_plan_esp_nn $((seconds / 4 + 1)) 16384 "$corpus"
fuzz fuzz_plan_cmsis_nn $((seconds / 4 + 1)) 16384 "$corpus"
fuzz fuzz_lz4 $((seconds / 10 + 1)) 600 "$work/lz4"
fuzz fuzz_records $((seconds / 5 + 1)) 6000 "$work/records"
fuzz fuzz_serve $((seconds / 10 + 1)) 3000 "$work/serve"
