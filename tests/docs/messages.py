"""The list of messages (docs/site/prose.py --messages) has what the program prints: for mistakes on the command line, the statement of the list that
has most of the printed line stands in the file that prints it. Each entry stands at its place in the source. Usage: messages.py DODYN"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COVERED = 0.2  # share of a printed line that must come from the text of one statement; the rest are names and values
program = os.path.abspath(sys.argv[1])
KNEE = os.path.join("configs", "knee.cfg")
MISTAKES = {  # words after `dodyn`, and the source file that has the message
    ("rnu",): "apps/main.cpp", ("run", KNEE, "-n", "4"): "apps/arguments.cpp", ("run", KNEE, "4"): "src/settings/command_line.cpp",
    ("solve", KNEE): "apps/arguments.cpp", ("check", KNEE, "--design.knee", "0.4 kg"): "src/settings/key.cpp", ("show", KNEE): "apps/arguments.cpp",
}  # fmt: skip

os.chdir(ROOT)
listed = subprocess.run([sys.executable, "docs/site/prose.py", "--messages"], capture_output=True, text=True, check=True).stdout
entries = [re.match(r"(\S+?):(\d+):(?: \[[^]]*\])* (.*)", line) for line in listed.splitlines()]
bad, pieces = [], []
lines = {}
for entry in entries:
    path, number, text = entry.groups()
    pieces.append((f"{path}:{number}", [p.strip() for p in text.split("CODE") if len(p.strip()) >= 6]))
    if path not in lines:
        lines[path] = open(path, encoding="utf-8").read().splitlines()
    first = re.findall(r"[A-Za-z]+", text.replace("CODE", " ").replace("\\n", " "))[0]
    if not any(first in line for line in lines[path][int(number) - 1 : int(number) + 30]):
        bad.append(f"{path}:{number}: '{first}' of the list is not there")
for words, source in MISTAKES.items():
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=300)
    printed = " ".join(done.stderr.split())
    if done.returncode != 2:
        bad.append(f"dodyn {' '.join(words)}: exit code {done.returncode}, {printed}")
        continue
    best, where = 0.0, ""
    for place, own in pieces:
        covered = [False] * len(printed)
        for piece in own:
            at = printed.find(piece)
            if at >= 0:
                covered[at : at + len(piece)] = [True] * len(piece)
        if sum(covered) > best * len(printed):
            best, where = sum(covered) / len(printed), place
    print(f"{best:.2f} {where}: {printed}", flush=True)
    if best < COVERED or not where.startswith(source + ":"):
        bad.append(f"not in the list at {source}: {printed} (the nearest: {where}, {best:.2f})")
print("\n".join(bad))
sys.exit(bool(bad) or len(entries) < 1000)
