#!/usr/bin/env bash
# site.sh DODYN: the site and the libraries' reference are built without a warning, and every link in the site leads somewhere.
# Skipped (77) where mkdocs or doxygen is missing.
set -euo pipefail
command -v mkdocs doxygen awk >/dev/null || exit 77
[[ $(command -v mkdocs doxygen | wc -l) == 2 ]] || exit 77
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$(dirname "${BASH_SOURCE[0]}")/../../docs/site/make.sh" "$place" "$1" 2>"$place/warnings" || { cat "$place/warnings"; exit 1; }
[[ ! -s $place/warnings ]] || { cat "$place/warnings"; exit 1; }
grep -q 'study.max-evaluations' "$place/site/docs/reference.html" || { echo "the site lacks the reference of keys"; exit 1; }
[[ $(grep -c '<figure>' "$place/site/index.html") == 12 ]] || { echo "the front door lacks pictures"; exit 1; }
if grep -rlE '<(script|link)[^>]* (src|href)="(https?:)?//' --include='*.html' "$place/site"; then
  echo "these pages load a script or a style from another host"
  exit 1
fi
# Comments before and after a declaration appear at that declaration.
grep -q 'infeasible&#160;</td>.*locally minimal infeasibility' "$place/api/namespacedodyn_1_1nlp.html" ||
  { echo "the reference lacks what stands behind an enumerator"; exit 1; }
grep -q 'std::invalid_argument if sizes do not match' "$place/api/namespacedodyn_1_1nlp.html" ||
  { echo "the reference lacks what stands before a function"; exit 1; }
/usr/bin/python3 - "$place/site" <<'PYTHON'
import html.parser, os, sys
from urllib.parse import unquote

class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(open(path, encoding="utf-8").read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                if tag != "script":  # links of the theme; Debian has some of their targets in recommended packages only
                    self.links.append(value)
            if name in ("id", "name"):
                self.places.add(value)

root = sys.argv[1]
pages = {}
for folder, _, files in os.walk(root):
    for name in files:
        if name.endswith(".html") and name != "404.html":  # whose links are those of a server's root
            path = os.path.join(folder, name)
            pages[path] = Page(path)
bad, count = [], 0
for path, page in pages.items():
    for link in page.links:
        if ":" in link.split("/")[0] or link.startswith("//"):
            continue
        target, _, place = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(target))) if target else path
        count += 1
        if os.path.isdir(target) and "." not in os.path.basename(target):
            continue
        if not os.path.exists(target) or (place and target in pages and unquote(place) not in pages[target].places):
            bad.append(f"{os.path.relpath(path, root)}: {link}")
print(len(pages), "pages,", count, "links")
print("\n".join(sorted(set(bad))))
sys.exit(bool(bad) or len(pages) < 25)
PYTHON
