# The inner problem of command-beam.cfg: E I of the plate and of ribs 3 mm thick on it, about their own middles (plate and ribs are not
# glued); mass in kg, sag of the end in mm. DODYN_MATERIAL is a name.
set -eu
case $DODYN_MATERIAL in
  steel) young=210e9 density=7850 ;;
  aluminium) young=70e9 density=2700 ;;
  titanium) young=114e9 density=4430 ;;
esac
awk -v e=$young -v rho=$density -v b="$DODYN_WIDTH" -v h="$DODYN_HEIGHT" -v n="$DODYN_RIBS" -v r="$DODYN_RIB_HEIGHT" 'BEGIN {
  second = b * h^3 / 12 + n * 0.003 * r^3 / 12
  mass = rho * (b * h + n * 0.003 * r)
  printf "{\"cost\": %.12g, \"metrics\": {\"sag\": %.12g}}\n", mass, 1e3 * 500 / (3 * e * second)
}' >"$DODYN_RESULT_FILE"
