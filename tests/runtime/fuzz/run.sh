#!/bin/sh
# Fuzzes the runtime with damaged plans: run.sh SECONDS [CORPUS]. Needs clang and the project's Python.
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
# shellcheck disable=SC2086
clang -std=c99 -g -O1 -fsanitize=fuzzer,address,undefined,float-cast-overflow -fno-sanitize-recover=all \
    -DTIGRIS_TENSOR_ALIGN=4 -I"$root/runtime/include" -I"$root/runtime/src" \
    "$here/fuzz_plan.c" "$here/run_plan.c" $sources -lm -o "$work/fuzz_plan"
exec "$work/fuzz_plan" -max_total_time="$seconds" -max_len=16384 -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$work/crashes/" "$corpus"
