"""Renamed keys: src/settings/renamed.cpp, read as text, against the keys that the program's help lists. Usage: renamed.py DODYN ROOT

Each new key exists. An old key does not exist, unless another evaluator has a key of that name. No description in the help has an old key.
"""

import os
import re
import subprocess
import sys

DODYN, ROOT = (os.path.abspath(word) for word in sys.argv[1:3])
with open(f"{ROOT}/src/settings/renamed.cpp", encoding="utf-8") as file:
    table = dict(re.findall(r'^    \{"([^"]+)", "([^"]+)"\},$', file.read(), re.M))
dotted = {old: new for old, new in table.items() if "." in old and not old.startswith("cost.")}  # help lists no keys of [cost]
assert len(dotted) >= 50, len(dotted)  # the regular expression found the table

sections = sorted({new.split(".")[0] for new in dotted.values()})
texts = {section: subprocess.run([DODYN, "help", "keys", section], capture_output=True, text=True) for section in sections}
for section, done in texts.items():
    assert done.returncode in (0, 2), (section, done.stderr)
listed = set(re.findall(r"\b[a-z-]+\.[a-z-]+\b", " ".join(done.stdout for done in texts.values())))
own_sections = {section for section, done in texts.items() if done.returncode == 0}

missing = sorted(new for new in dotted.values() if new.split(".")[0] in own_sections and new not in listed)
assert not missing, missing
assert len(own_sections) >= 8, own_sections
stays = {old for old in dotted if old.startswith("motion.")}  # the evaluator `motion` has some of the former keys of `hybrid`
assert not (set(dotted) - stays) & listed, (set(dotted) - stays) & listed
for section in own_sections:
    for old in (old.split(".")[1] for old, new in dotted.items() if new.startswith(section + ".") and old not in stays):
        assert not re.search(rf"\b{re.escape(old)} = ", texts[section].stdout), (section, old)
print(f"{len(dotted)} renamed keys, {len(own_sections)} sections")
