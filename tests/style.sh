#!/usr/bin/env bash
# Checks how all C++ files are formatted (clang-format 14, .clang-format) and the types of the Python package (mypy, python/pyproject.toml).
# Exit code 77: skipped, one of them is not installed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for tool in clang-format mypy; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool; apt-get install $tool"; exit 77; }
done
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
bad=0
find apps bench examples src surrogate tests -name '*.[ch]pp' -print0 | xargs -0 -n 40 -P "$(nproc)" clang-format --dry-run -Werror || { bad=1; echo "clang-format -i FILE formats a C++ file" >&2; }
(cd python && mypy --config-file pyproject.toml --cache-dir "$cache") || bad=1
exit "$bad"
