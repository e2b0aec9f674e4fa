# The inner problem of command-shell.cfg: the design comes in the environment, the cost goes to a JSON file.
set -eu
cost=$(awk "BEGIN { printf \"%.17g\", ($DODYN_X - 1)^2 + ($DODYN_Y + 2)^2 }")
echo "(x, y) = ($DODYN_X, $DODYN_Y) costs $cost"
echo "{\"cost\": $cost}" >"$DODYN_RESULT_FILE"
