"""Every file that a comment or a page names exists: names with a folder of the sources (`docs/models.md`), and names of C++ files.
A block below the sentence that a configuration is a complete example has sections and values of that file.
No entry stands twice in the history. All files that state the version state the same."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.chdir(ROOT)
listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True)
if listed.returncode:
    sys.exit(77)  # not a working copy
files = [f for f in listed.stdout.splitlines() if os.path.exists(f)]
folders = {part for f in files for part in f.split("/")[:-1]}
COMMENT = {".hpp": "//", ".cpp": "//", ".py": "#", ".sh": "#", ".cmake": "#", ".txt": "#", ".cfg": "#", ".model": "#", ".md": ""}
# Files of other projects, or files that a test or an example writes.
FOREIGN = {"libensemble/manager.py", "src/EffGlobalMinimizer.cpp", "packages/dodyn/package.py", "siconos/kernel/SiconosKernel.hpp",
           "a.cpp", "b.cpp"}  # fmt: skip
NAME = re.compile(r"(?<![\w./$-])((?:[\w-]+/)*[\w-]+\.(?:hpp|cpp|md|cfg|model|py|sh))(?![\w-])")


def comments(path):
    """Yields the lines of a page, or the comments of a source file, with their line numbers."""
    sign = COMMENT[os.path.splitext(path)[1]]
    text = open(path, encoding="utf-8").read()
    if path.endswith(".py"):  # their docstrings, too
        text = re.sub(r'"""(.*?)"""', lambda m: "\n".join("# " + line for line in m[1].split("\n")), text, flags=re.S)
    for number, line in enumerate(text.splitlines(), 1):
        if path.endswith(".sh") and not line.lstrip().startswith("#"):
            continue
        if sign in line:
            yield number, line[line.index(sign) + len(sign) :]


bad, seen = [], 0
for path in files:
    if os.path.splitext(path)[1] not in COMMENT or path == "CHANGELOG.md":  # a history may name deleted files
        continue
    for number, line in comments(path):
        for name in NAME.findall(line):
            ours = "/" in name and name.split("/")[0] in folders
            plain = name.endswith((".hpp", ".cpp")) and not path.endswith((".py", ".sh"))  # a script may write such files
            if name in FOREIGN or not (ours or plain):
                continue
            seen += 1
            # from the root, from the file's own folder, or as the end of a path: `dmoc/gait.hpp`
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if not any(f in (name, beside) or f.endswith("/" + name) for f in files):
                bad.append(f"{path}:{number}: {name} does not exist")


def values(lines):
    """Yields (section, key, value) of the entries of a configuration, without comments."""
    section = ""
    for line in lines:
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line
        elif "=" in line:
            key, value = line.split("=", 1)
            yield section, key.strip(), value.strip()


examples = 0
for path in (f for f in files if f.endswith(".md")):
    page = open(path, encoding="utf-8").read()
    for name, block in re.findall(r"`configs/([\w-]+)\.cfg` is a complete example.*\n\n((?:    .*\n|\n)+)", page):
        given = set(values(open(f"configs/{name}.cfg", encoding="utf-8")))
        examples += 1
        bad += [f"{path}: configs/{name}.cfg has no {section} {key} = {value}" for section, key, value in values(block.splitlines()) if (section, key, value) not in given]
if not examples:
    bad.append("no page has a block below 'is a complete example'")
entries = [line for line in open("CHANGELOG.md", encoding="utf-8") if line.startswith("- ")]
bad += [f"CHANGELOG.md: twice: {line.strip()}" for line in sorted(set(entries)) if entries.count(line) > 1]
VERSIONS = {"CMakeLists.txt": r"^project\(dodyn VERSION (\S+)", "python/dodyn/__init__.py": r'^__version__ = "(.*)"', "CITATION.cff": r"^version: (\S+)"}
versions = {path: re.search(pattern, open(path, encoding="utf-8").read(), re.M)[1] for path, pattern in VERSIONS.items()}
if len(set(versions.values())) != 1:
    bad.append(f"versions differ: {versions}")
print(f"{seen} names")
print("\n".join(bad))
sys.exit(bool(bad) or seen < 200)
