#!/usr/bin/env bash
# make.sh OUTPUT DODYN: the manual as a site in OUTPUT/site (index.html opens from the disk) and the libraries' reference in
# OUTPUT/api. Needs mkdocs and doxygen; a page that warns fails. DODYN prints the list of commands and keys; the reference of the Python
# package comes from its sources.
set -euo pipefail
(($# == 2)) || { echo "usage: docs/site/make.sh OUTPUT DODYN" >&2; exit 2; }
for tool in mkdocs doxygen; do
  command -v "$tool" >/dev/null || { echo "make.sh: $tool is missing; on Debian: apt install mkdocs doxygen" >&2; exit 1; }
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$1"
output=$(cd "$1" && pwd)
dodyn=$(realpath "$2")
pages=$output/pages
rm -rf "$pages" "$output/site" "$output/api"
mkdir -p "$pages"
cd "$root"

# Pages stand as in the sources, with all that they link to.
cp -r README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md CODE_OF_CONDUCT.md CITATION.cff LICENSE docs models configs examples packaging "$pages"
rm -r "$pages/docs/site"
cp docs/site/site.css "$pages"
python3 docs/site/gallery.py --site "$pages" # the front door shows pictures, and the gallery is cards
# A code block for a test names its file or its use after the language. Python-Markdown takes no such word for a code block.
find "$pages" -name '*.md' -exec sed -i -E 's/^(```[a-z]+) .*/\1/' {} +
"$dodyn" help --markdown | sed 's/\\|/|/g' >"$pages/docs/reference.md" # Python-Markdown takes a bar within code as it is
python3 docs/site/python_reference.py >"$pages/docs/python-reference.md"
DODYN_PAGES=$pages DODYN_SITE=$output/site mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml
if grep -rlF '```' --include='*.html' "$output/site" >&2; then
  echo "make.sh: these pages have a code block that mkdocs does not recognise" >&2
  exit 1
fi

# shellcheck disable=SC2015
(cat docs/site/Doxyfile && echo "PROJECT_NUMBER = $("$dodyn" --version | sed 's/^dodyn //; q')" && echo "OUTPUT_DIRECTORY = $output" && echo "HTML_OUTPUT = api") |
  doxygen -
