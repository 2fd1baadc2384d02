#!/usr/bin/env bash
# Runs the crash test with many seeds, some at a time, beside loops that only
# compute, so that the machine is loaded; prints a line for each seed, and all that a
# failed one said. It ends with 1 if one failed. By the environment:
#
#   SEEDS=30 FROM=1 KILLS=20 FAULTS=kill,enospc,eio,full   what is run
#   JOBS=3   runs at a time
#   SPIN=1   loops beside them: the load is about JOBS+SPIN
#   OUT=DIR  where the outputs go (default: a temporary folder, which stays)
set -euo pipefail
cd "$(dirname "$0")/../.."
export KILLS=${KILLS:-20} FAULTS=${FAULTS:-kill,enospc,eio,full}
seeds=${SEEDS:-30} from=${FROM:-1} jobs=${JOBS:-3} spin=${SPIN:-1}
export OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
"${GO:-go}" build -o "$OUT/corona" ./cmd/corona
"${GO:-go}" build -o "$OUT/crash" ./benchmarks/crash
echo "outputs in $OUT"

spinners=()
trap '((${#spinners[@]} == 0)) || kill "${spinners[@]}" 2>/dev/null || true' EXIT
for ((n = 0; n < spin; n++)); do
	(while kill -0 $$ 2>/dev/null; do for ((i = 0; i < 100000; i++)); do :; done; done) &
	spinners+=($!)
done

one() {
	local begun=$SECONDS word=passed
	"$OUT/crash" -program "$OUT/corona" -kills "$KILLS" -faults "$FAULTS" -seed "$1" >"$OUT/seed-$1.txt" 2>&1 || word=FAILED
	echo "seed $1 $word after $((SECONDS - begun)) s, load $(cut -d' ' -f1 /proc/loadavg)" | tee -a "$OUT/summary.txt"
	[[ $word == passed ]] || { sed "s/^/seed $1: /" "$OUT/seed-$1.txt"; return 1; }
}
export -f one
# xargs ends with 123 when one of them failed.
seq "$from" "$((from + seeds - 1))" | xargs -P "$jobs" -I{} bash -c 'one {}'
echo "all $seeds passed"
