#!/usr/bin/env bash
# Builds a fuzz target by the preset `fuzz` and runs it; exit code 1 where it finds a crash, a leak or an input that takes more than 20 s.
#   tests/fuzz/run.sh ini|expression|model|csv|archive|urdf|mjcf SECONDS [KEEP]      KEEP: a folder for inputs that are worth keeping
# Exit code 77: skipped, no clang. The input that failed is kept beside KEEP, or in /tmp.
set -eu
reader=$1 seconds=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
directory=$(mktemp -d /tmp/dodyn-fuzz.XXXXXX)
trap 'rm -rf "$directory"' EXIT
if [[ $reader == urdf || $reader == mjcf ]]; then
  cd "$directory"
  /usr/bin/python3 "$here/robots.py" "$reader" "$seconds" "$root/python" && exit 0
  cp "crash.$reader" "/tmp/dodyn-fuzz-$reader.crash" 2>/dev/null && echo "kept: /tmp/dodyn-fuzz-$reader.crash"
  exit 1
fi
command -v clang++ >/dev/null || { echo "skipped: no clang++; apt-get install clang"; exit 77; }
(cd "$root" && cmake --preset fuzz >/dev/null && cmake --build build/fuzz --parallel "${JOBS:-2}" --target "fuzz_$reader" >&2)
mkdir "$directory/seeds"
case $reader in
ini) cp "$root"/configs/*.cfg "$root"/configs/published/*.cfg "$root"/models/*.model "$directory/seeds" ;;
model) cp "$root"/models/*.model "$directory/seeds" ;;
expression) # every value of a model
  grep -hoE '= [^#]+' "$root"/models/*.model | sort -u | head -n 400 | { i=0; while read -r _ value; do printf '%s' "$value" >"$directory/seeds/$((i++))"; done; } ;;
csv) printf 'x [m],y,cost,status,speed\n0.5,0.25,1.5,ok,2\n"0.1",-1,nan,failed,\n' >"$directory/seeds/samples" ;;
archive) printf '\0\1\0\0\1' >"$directory/seeds/change" ;;
esac
keep=${3:-$directory/keep}
mkdir -p "$keep"
cd "$directory"
# HDF5 1.10 itself loses a few hundred bytes where it refuses a damaged file.
printf 'leak:libhdf5\n' >leaks
export LSAN_OPTIONS=suppressions=$directory/leaks:print_suppressions=0
# libFuzzer's own exit code of a crash is 77, which says "skipped" here.
"$root/build/fuzz/tests/fuzz/fuzz_$reader" -error_exitcode=1 -timeout_exitcode=1 -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=20000 -artifact_prefix="/tmp/dodyn-fuzz-$reader-" \
  -print_final_stats=1 "$keep" seeds
