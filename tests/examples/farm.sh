#!/usr/bin/env bash
# farm.sh EXAMPLE MPIEXEC: one process and three ranks print the same.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$1" >"$place/alone" 2>"$place/who"
grep -q '^rank 0 answered 40$' "$place/who"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 PMIX_MCA_gds=hash
"$2" -n 3 "$1" >"$place/three" 2>"$place/who"
diff "$place/alone" "$place/three"
awk '/answered/ { sum += $4 } END { exit sum != 40 }' "$place/who"
cat "$place/alone"
