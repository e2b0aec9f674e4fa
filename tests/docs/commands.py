"""Commands, keys and configurations that pages and heads of configurations name must exist. Every `dodyn ...` line of a code block has a command,
options and keys that the program knows (keys and values by `dodyn check`). Every `section.key` in a sentence is one of the reference.
Usage: commands.py DODYN"""

import functools
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
program = os.path.abspath(sys.argv[1])
os.chdir(ROOT)


@functools.cache  # many pages show the same command
def ask(*words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


reference = ask("help", "--markdown")[1]
options = {}  # of each command, as its line in the reference has them
takes_value = {}
for line in re.findall(r"^\| `dodyn (.*?)` \|", reference, re.M):
    command = line.split()[0]
    options[command] = set(re.findall(r"--[a-z][a-z-]*", line)) - {"--key"}
    takes_value[command] = set(re.findall(r"(--[a-z][a-z-]*) [A-Za-z]", line))
assert "--verify" in options["show"] and "--output" in takes_value["solve"]
keys = set(re.findall(r"^\| `([a-z-]+\.[a-z-]+)` \|", reference, re.M))
assert {"study.seed", "gait.initial-guesses"} <= keys

pages = ["README.md", "CONTRIBUTING.md"]
for folder, _, files in os.walk("docs"):
    pages += [os.path.join(folder, f) for f in sorted(files) if f.endswith(".md")]
pages += [os.path.join("configs", f) for f in sorted(os.listdir("configs")) if f.endswith(".cfg")]  # what they begin with
bad, commands = [], 0


def code(text):
    """Returns the lines of the page's code blocks, with continued lines joined."""
    blocks = re.findall(r"^```(?:sh|bash)?\n(.*?)^```", text, re.S | re.M) + re.findall(r"(?:^    .*\n)+", text, re.M)
    for block in blocks:
        yield from re.sub(r"\\\n\s*", " ", block).splitlines()


def judge(words):
    """Returns the error in `dodyn WORDS`, or nothing."""
    command, words = words[0], words[1:]
    if command.startswith("-") or command in ("help", "COMMAND"):
        return None
    if command not in options:
        return f"no command {command}"
    if command in ("plot", "animate", "report", "watch"):
        known = set(re.findall(r"--[a-z][a-z-]*", ask(command, "--help")[1])) | options[command]
        unknown = [w for w in words if w.startswith("--") and w.split("=")[0] not in known]
        return f"{command} does not know {unknown}" if unknown else None
    rest, skip = [], False
    for word in words:
        name = word.split("=")[0]
        if skip:
            skip = False
        elif name in options[command]:
            skip = name in takes_value[command] and "=" not in word
        else:
            rest.append(word)
    plain = [w for i, w in enumerate(rest) if not w.startswith("--") and not (i and rest[i - 1].startswith("--") and "=" not in rest[i - 1])]
    config = plain[0].replace("$CONFIGS/", "configs/") if plain else ""
    if command in ("run", "solve", "simulate", "check", "rerun", "replay") and re.fullmatch(r"configs/(?:published/)?[a-z-]+\.cfg", config):
        if not os.path.exists(config):
            return f"no {config}"
        given = [w for w in rest if w != plain[0]]
        if "--help" in given or any("$" in w for w in given):
            return None
        code, told = ask("check", config, *given)
        return told.strip() if code == 2 else None
    if command not in ("run", "solve", "simulate", "check", "rerun", "replay", "predict"):
        unknown = [w for w in rest if w.startswith("--") and w != "--help"]
        return f"{command} does not know {unknown}" if unknown else None
    return None


for page in pages:
    text = open(page, encoding="utf-8").read()
    if page.endswith(".cfg"):
        # Three blanks after the # set a command apart; a code block has four.
        text = "".join(" " + line[1:] for line in text.splitlines(keepends=True) if line.startswith("#"))
    for line in code(text):
        line = re.sub(r"\s#.*$", "", line.strip()).split(" || ")[0]
        line = re.sub(r"\[(--[^]]*)\]", r"\1", line)  # what may be left out
        for part in re.split(r";|&&", line):
            found = re.match(r"\s*(?:\$ )?(?:mpirun [-\w ]*?)?(?:build/release/apps/)?dodyn +(?!\.{3})(.+)$", part)
            local = re.match(r"\s*jobs/local\.sh +(.+)$", part)
            if not found and not local:
                continue
            try:
                words = shlex.split((found or local)[1])
            except ValueError:
                continue  # a sentence
            words = ["run", *words] if local else words
            if ">" in words:
                words = words[: words.index(">")]
            commands += 1
            wrong = judge(words)
            # Pages also show mistakes, followed by their messages.
            if wrong and "refused, as it should be" not in text[text.find(line) : text.find(line) + 200]:
                bad.append(f"{page}: dodyn {' '.join(words)}: {wrong}")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    sections = {k.split(".")[0] for k in keys}
    for name in re.findall(r"`(?:--)?([a-z-]+\.[a-z-]+)(?: = [^`]*)?`", prose):
        if name.split(".")[0] in sections - {"design"} and name not in keys and not name.endswith((".cfg", ".model", ".h5", ".md", ".py", ".sh", ".h")):
            bad.append(f"{page}: no key {name}")
    for name in re.findall(r"`(?:configs/)?([a-z-]+\.cfg)`", text):
        if not os.path.exists(f"configs/{name}") and f"file={name}" not in text and f"dodyn new {name[:-4]}\n" not in text:
            bad.append(f"{page}: no configuration {name}")

print(f"{commands} commands, {len(keys)} keys")
print("\n".join(bad))
sys.exit(bool(bad) or commands < 60)
