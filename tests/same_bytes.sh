#!/usr/bin/env bash
# Prints a table with one hash per study and program, for programs of several compilers or options. A hash covers the
# outcomes of the first evaluations, bit by bit (design, seed, status, reason, cost, gradient, metrics, trajectory).
# Exit code 1 if hashes of programs differ. The last column does not count: it is the first program with the C library's
# code for a processor without AVX2 and FMA.
#   tests/same_bytes.sh PROGRAM [PROGRAM ...]             STUDIES="knee docking": names in configs/ or below, in place of those below
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
(($#)) || { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
programs=()
for program; do programs+=("$(realpath -e "$program")") || exit 2; done
# Optimal control of gaits and motions, simulation with contacts and magnets, impacts, programs.
read -r -a studies <<<"${STUDIES:-knee knee-torso knee-step knee-free hip-spring walker-period docking docking-ports pendulum-tick command-python}"
rows=3
directory=$(mktemp -d /tmp/dodyn-same.XXXXXX)
trap 'rm -rf "$directory"' EXIT
cd "$directory" || exit 1
printf '#!/bin/sh\nGLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL exec "%s" "$@"\n' "${programs[0]}" >older
chmod +x older
export OMP_NUM_THREADS=1
hash_of() { # of an archive: the third checksum of each row is of its outcome
  /usr/bin/python3 - "$1" <<'PYTHON'
import hashlib, sys
import h5py
with h5py.File(sys.argv[1]) as file:
    rows = file["evaluations"]
    by_id = sorted(zip(rows["id"][:].tolist(), rows["checksum"][:, 2].tolist()))
    ok = sum(status == 0 for status in rows["status"][:].tolist())
print(hashlib.sha256(repr(by_id).encode()).hexdigest()[:12], f"{ok} of {len(by_id)}")
PYTHON
}
different=0
older=0
echo "| study | rows that are ok | hash | builds | an older processor |"
echo "|---|---|---|---|---|"
for study in "${studies[@]}"; do
  hashes=() counted=
  for program in "${programs[@]}" ./older; do
    rm -f study.h5
    "$program" run "$(find "$root/configs" -name "$study.cfg")" --study.archive study.h5 --study.max-evaluations $rows >said 2>&1
    [[ -e study.h5 ]] || { echo "$program, $study: no archive: $(tail -n 1 said)" >&2; exit 1; }
    read -r hash counted < <(hash_of study.h5)
    hashes+=("$hash")
  done
  processor="the same"
  [[ ${hashes[-1]} == "${hashes[0]}" ]] || { processor=differs older=$((older + 1)); }
  unset 'hashes[-1]'
  if (($(printf '%s\n' "${hashes[@]}" | sort -u | wc -l) == 1)); then
    echo "| $study | $counted | ${hashes[0]} | the same | $processor |"
  else
    different=$((different + 1))
    echo "| $study | $counted | ${hashes[*]} | differ | $processor |"
  fi
done
echo
echo "${#studies[@]} studies, ${#programs[@]} programs: $different studies differ between builds, $older on an older processor"
exit $((different > 0))
