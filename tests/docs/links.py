"""Every relative link and picture of the pages leads to a file and, after a #, to one of its headings. Every source file that they name exists,
and every page of docs/ can be reached from the README."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
for folder, _, files in os.walk(os.path.join(ROOT, "docs")):
    pages += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files if f.endswith(".md")]


def links(page):
    text = re.sub(r"^```.*?^```", "", open(os.path.join(ROOT, page), encoding="utf-8").read(), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:|#", target):
            yield os.path.normpath(os.path.join(os.path.dirname(page), target.split("#")[0]))


def anchors(page):
    """Returns the anchors of the page's headings, as GitHub and mkdocs form them."""
    text = re.sub(r"^```.*?^```", "", open(os.path.join(ROOT, page), encoding="utf-8").read(), flags=re.S | re.M)
    titles = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ +(.*)$", text, re.M))
    return {re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def headings(page):
    """Pages and anchors that this page links to."""
    text = re.sub(r"^```.*?^```", "", open(os.path.join(ROOT, page), encoding="utf-8").read(), flags=re.S | re.M)
    for target, anchor in re.findall(r"\]\(([^)\s#:]*)#([^)\s]+)\)", text):
        yield os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page, anchor


bad = [(page, target) for page in pages for target in links(page) if not os.path.exists(os.path.join(ROOT, target))]
bad += [(page, f"{target}#{anchor}") for page in pages for target, anchor in headings(page)
        if target in pages and anchor not in anchors(target)]  # fmt: skip
reached, new = set(), {"README.md"}
while new:
    reached |= new
    new = {t for page in new if page in pages for t in links(page)} - reached
lost = sorted(set(pages) - reached)
# source files that pages name, as in `nlp/interior_point.cpp`
for page in pages:
    text = open(os.path.join(ROOT, page), encoding="utf-8").read()
    for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.[ch]pp)`", text):
        if not any(os.path.exists(os.path.join(ROOT, room, name)) for room in ("src", "")):
            bad.append((page, name))
for page, target in bad:
    print(f"{page}: {target} is not there")
for page in lost:
    print(f"{page}: no page leads there from the README")
sys.exit(bool(bad or lost))
