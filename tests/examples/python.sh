#!/usr/bin/env bash
# python.sh SOURCES DODYN EXAMPLE: runs a Python example, which checks its result itself. Its name begins with the package that it needs.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
package=${3%%_*}
/usr/bin/python3 -c "import h5py, $package" 2>/dev/null || exit 77
cd "$place"
DODYN=$2 PYTHONPATH=$1/python${PYTHONPATH:+:$PYTHONPATH} exec /usr/bin/python3 "$1/examples/$3.py" "$1/configs/knee.cfg"
