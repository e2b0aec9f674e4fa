#!/usr/bin/env bash
# archive.sh EXAMPLE DODYN: what the example writes is read by the program, best row and superseded row included.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$1" "$place/throws.h5"
"$2" show "$place/throws.h5" >"$place/shown"
grep -q '^18 evaluations.* 1 earlier attempt' "$place/shown" || { cat "$place/shown"; exit 1; }
# The cost is how far a throw misses 10 m: computed once more.
"$2" show "$place/throws.h5" --csv | /usr/bin/python3 -c '
import csv, math, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["status"] == "ok"]
for r in rows:
    a = math.radians(float(r["design.angle [deg]"]))
    vx, vy = 10 * math.cos(a), 10 * math.sin(a)
    t = (vy + math.sqrt(vy * vy + 2 * 9.81 * 1.5)) / 9.81
    assert abs(abs(vx * t - 10) - float(r["cost"])) < 1e-9, r
print(len(rows), "rows agree")
assert len(rows) > 12'
"$2" show --verify "$place/throws.h5"
