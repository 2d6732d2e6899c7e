#!/bin/sh
# Fuzzes the runtime with damaged plans: run.sh SECONDS [CORPUS], then for half of that with the kernels for Arm's DSP
# instructions, C in their place. Needs clang and the project's Python.
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
(cd "$root" && "$python" -m tests.runtime.fuzz.seeds "$corpus")
# Relative, so that none has a space.
cd "$root"
sources=$(find runtime/src -name '*.c' ! -name 'serve*')

# build PROGRAM FLAG...
build() {
    program=$1
    shift
    # shellcheck disable=SC2086
    clang -std=c99 -g -O1 -fsanitize=fuzzer,address,undefined,float-cast-overflow -fno-sanitize-recover=all "$@" \
        -DTIGRIS_TENSOR_ALIGN=4 -D_POSIX_C_SOURCE=200112L -I"$root/runtime/include" -I"$root/runtime/src" \
        "$here/fuzz_plan.c" "$here/run_plan.c" $sources -lm -o "$work/$program"
}

# fuzz PROGRAM SECONDS
fuzz() {
    "$work/$1" -max_total_time="$2" -max_len=16384 -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$work/crashes/" "$corpus"
}

build fuzz_plan
build fuzz_plan_dsp -include tests/runtime/dsp_in_c.h
fuzz fuzz_plan "$seconds"
fuzz fuzz_plan_dsp $((seconds / 2))
