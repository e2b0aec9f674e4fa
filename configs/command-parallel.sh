# The inner problem of command-parallel.cfg: the integral of (t - x)^2 over t from 0 to 1, by midpoints; each process takes
# every DODYN_RANKSth of them, and one more program adds up what they have left in files. In place of sh stands your simulator.
set -eu
cat >part.sh <<'PART'
rank=${OMPI_COMM_WORLD_RANK:-${SLURM_PROCID:-${PMI_RANK:-0}}}
awk "BEGIN { for (i = $rank; i < 1000; i += $DODYN_RANKS) s += ((i + 0.5) / 1000 - ($DODYN_X))^2 / 1000; printf \"%.17g\n\", s }" >"part.$rank"
PART
$DODYN_LAUNCH sh part.sh
[ "$(cat part.[0-9]* | wc -l)" -eq "$DODYN_RANKS" ] || { echo "of $DODYN_RANKS processes some left nothing" >&2; exit 1; }
cat part.[0-9]* | awk '{ s += $1 } END { printf "{\"cost\": %.12g}\n", s }' >"$DODYN_RESULT_FILE"
