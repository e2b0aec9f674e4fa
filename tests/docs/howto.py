"""Runs the how-to pages whose commands need nothing but the program: each page from top to bottom, in an empty directory. A block `LANGUAGE file=NAME`
is written as a file, `sh` and `python run` are run in the current folder, and each line of a `text` block appears in the output up to that block.
Usage: howto.py DODYN"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ("own-model", "import", "read-archive", "shared-archive")
program = os.path.abspath(sys.argv[1])
packages = os.path.join(ROOT, "python")
environment = dict(os.environ, PATH=os.path.dirname(program) + ":" + os.environ["PATH"], PYTHONPATH=packages, DATA=ROOT, CONFIGS=os.path.join(ROOT, "configs"))
if subprocess.run(["/usr/bin/python3", "-c", "import h5py, numpy"], capture_output=True).returncode:
    sys.exit(77)  # skipped


def script(blocks):
    """Returns the page's blocks as one script, so that a `cd` lasts to its end."""
    for language, what, code in blocks:
        if what.startswith("file="):
            yield f"cat >{what[5:]} <<'END OF FILE'\n{code}END OF FILE\n"
        elif language == "sh":
            yield code
        elif (language, what) == ("python", "run"):
            yield f"/usr/bin/python3 - <<'END OF FILE'\n{code}END OF FILE\n"


bad, count = [], 0
for page in PAGES:
    text = open(os.path.join(ROOT, "docs", f"{page}.md"), encoding="utf-8").read()
    blocks = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```", text, re.S | re.M)
    count += len(blocks)
    with tempfile.TemporaryDirectory(prefix="dodyn-howto-") as directory:
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", "".join(script(blocks))], cwd=directory, env=environment, text=True, timeout=500,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    if done.returncode:
        bad.append(f"docs/{page}.md: exit code {done.returncode}: {done.stdout[-2000:]}")
        continue
    for language, _, code in blocks:
        if language == "text":
            bad += [f"docs/{page}.md: no run prints: {line}" for line in code.splitlines() if line.strip() and line not in done.stdout]
print(f"{count} blocks of {len(PAGES)} pages")
print("\n".join(bad))
sys.exit(bool(bad) or count < 20)
