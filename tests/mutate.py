#!/usr/bin/env python3
"""Changes single places of src/ and surrogate/ and reports changes that no test notices.

    tests/mutate.py --base main                       the lines that differ from the branch main
    tests/mutate.py --sample 60 --seed 20261124       60 random lines of all .cpp files
    tests/mutate.py --base main -D DODYN_WERROR=ON    -D goes to CMake; with CMAKE_UNITY_BUILD=ON, and the other values of a preset,
                                                      a compiler cache knows the files that are as they were
    tests/mutate.py --list --base main                print the places and stop

A place is an operator, a number with a point, or an `if` that returns. Changes: a comparison includes or excludes equality, a sign is reversed, a
number grows by 1 %, the right side of && or || is removed, an `if (...) return` never returns. One build of a copy of the sources in build/mutate
has all changes; DODYN_MUTATION=K selects one when a test program runs. Files with changes are compiled separately, with the standard library's
index checks. The tests of the place's own folder decide, with --then also those of further folders. Exit code 1 if a change survives.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = r"""// Written by tests/mutate.py.
#pragma once
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-value"
#ifdef __clang__
#pragma clang diagnostic ignored "-Weverything"
#endif
#include <cstdlib>
#include <fcntl.h>
#include <type_traits>
#include <unistd.h>
namespace mutation {
inline int chosen() {
  static const int k = std::getenv("DODYN_MUTATION") ? std::atoi(std::getenv("DODYN_MUTATION")) : -1;
  return k;
}
// Whether change k is the chosen one; leaves a file when it is first met.
inline bool on(int k) {
  if (k != chosen()) return false;
  static const bool met = [] {
    if (const char* path = std::getenv("DODYN_MUTATION_MET"))
      if (const int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); file >= 0) close(file);
    return true;
  }();
  return met;
}
inline double factor(int k) { return on(k) ? 1.01 : 1.0; }
struct Sign {
  bool turned;
};
template <class T>
auto operator*(Sign s, const T& x) {
  if constexpr (std::is_arithmetic_v<T>)
    return s.turned ? -x : +x;
  else
    return (s.turned ? -1.0 : 1.0) * x;
}
inline Sign sign(int k) { return {on(k)}; }
// a <change> b, as an operator between a and b
enum Comparison { less, less_equal, greater, greater_equal, equal, unequal };
struct Compare {
  Comparison one, other;
  int k;
};
template <class A>
struct Left {
  const A& a;
  Compare compare;
};
template <class A, class B>
bool decide(const A& a, Comparison c, const B& b) {
  if (c == less) return a < b;
  if (c == less_equal) return a <= b;
  if (c == greater) return a > b;
  return a >= b;
}
template <class A>
Left<A> operator<(const A& a, const Compare& c) { return {a, c}; }
template <class A, class B>
bool operator>(const Left<A>& l, const B& b) { return decide(l.a, on(l.compare.k) ? l.compare.other : l.compare.one, b); }
template <class A>
Left<A> operator==(const A& a, const Compare& c) { return {a, c}; }
template <class A, class B>
bool operator==(const Left<A>& l, const B& b) { return (l.a == b) == ((l.compare.one == equal) != on(l.compare.k)); }
}  // namespace mutation
"""
WORDS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "unequal"}
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
TOKEN = re.compile(r"(?<= )(?:<=|>=|==|!=|&&|\|\||<|>|\+|-)(?= )|(?<![\w.])\d+\.\d*(?:e[+-]?\d+)?(?![\w.])")
GUARD = re.compile(r"^ *(?:\} else )?if \(")


def run(command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def masked(text):
    """Returns the text with comments, strings and directives blanked, with unchanged length."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*', re.S | re.M)
    return pattern.sub(lambda m: "".join("\n" if c == "\n" else "\x01" for c in m[0]), text)


def closing(code, at):
    """Where the bracket that encloses `at` closes, or the operand ends: at a comma, semicolon, ?, : or a logical operator."""
    depth = 0
    while at < len(code):
        c = code[at]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return at
            depth -= 1
        elif depth == 0 and (c in ",;?" or code.startswith((" : ", " && ", " || "), at)):
            return at
        at += 1
    return None


def places(file, lines):
    """Changes of these lines of a file (None: all): line, words for a reader, insertions and replacements [(from, to, text)]."""
    code = masked((ROOT / file).read_text())
    start = 0
    for number, line in enumerate(code.split("\n"), 1):
        begin, start = start, start + len(line) + 1
        if lines is not None and number not in lines:
            continue
        if re.match(r"\s*(?:template|using|static_assert|case)\b", line) or "constexpr" in line or "operator" in line:
            continue
        if guard := GUARD.match(line):
            at = begin + guard.end()
            end = matching(code, at)
            if end and re.match(r"\s*(?:return|continue|break|throw)\b", code[end + 1:]) and ";" not in code[at:end]:
                yield number, "the guard is dropped", lambda k, a=at, e=end: [(a, a, f"!mutation::on({k}) && ("), (e, e, ")")]
        for token in TOKEN.finditer(line):
            at, to, what = begin + token.start(), begin + token.end(), token[0]
            if what in WORDS:
                opener, closer = ("==", "==") if what in ("==", "!=") else ("<", ">")
                yield number, f"{what} becomes {OTHER[what]}", lambda k, a=at, t=to, w=what, o=opener, c=closer: [
                    (a, t, f"{o} mutation::Compare{{mutation::{WORDS[w]}, mutation::{WORDS[OTHER[w]]}, {k}}} {c}")]
            elif what in "+-":
                before = code[:at].rstrip()[-1:]
                if before.isalnum() or before in ")]_}.":
                    yield number, f"{what} becomes {'-' if what == '+' else '+'}", lambda k, t=to: [
                        (t, t, f" mutation::sign({k}) *")]
            elif what in ("&&", "||"):
                end = closing(code, to)
                if end and "\x01" not in code[to:end] and re.search(r"[\w)\]]\s*$", code[:at]):
                    yield number, f"the right side of {what} is dropped", lambda k, t=to, e=end, w=what: [
                        (t, t, f" ({'' if w == '&&' else '!'}mutation::on({k}) {'||' if w == '&&' else '&&'} ("), (e, e, "))")]
            elif float(what) != 0.0:
                yield number, f"{what} grows by 1 %", lambda k, a=at, t=to: [
                    (a, a, "("), (t, t, f" * mutation::factor({k}))")]


def matching(code, at):
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth < 0:
            return i
    return None


def changed_lines(base):
    lines, file = {}, None
    for line in run(["git", "diff", "-U0", base, "--", "src", "surrogate"], cwd=ROOT, check=True).stdout.split("\n"):
        if line.startswith("+++ "):
            file = line[6:]
        elif (hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))?", line)) and file.endswith(".cpp"):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(file, set()).update(range(first, first + count))
    return lines


def choose(arguments):
    files = run(["git", "ls-files", "src/*.cpp", "surrogate/*.cpp"], cwd=ROOT, check=True).stdout.split()
    lines = changed_lines(arguments.base) if arguments.base else {file: None for file in files}
    found = [(file, number, words, edits) for file in sorted(lines) for number, words, edits in places(file, lines[file])]
    if not arguments.sample:
        return found
    # draws a line, then one of its changes, so that lines have equal weight
    by_line = {}
    for place in found:
        by_line.setdefault(place[:2], []).append(place)
    draw = random.Random(arguments.seed)
    keys = sorted(by_line)
    draw.shuffle(keys)
    return [draw.choice(by_line[key]) for key in keys[:arguments.sample]]


def write_copy(copy, chosen, dropped):
    """Writes the sources with all changes. Files with equal contents are not touched, so that little is compiled again."""
    def write(path, text):
        if not path.exists() or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)

    by_file = {}
    for k, (file, _, _, edits) in enumerate(chosen):
        if k not in dropped:
            by_file.setdefault(file, []).extend(edits(k))
    slow = {}  # of every CMakeLists.txt the files that hold changes: compiled in less time, each by itself
    for file in by_file:
        folder = "/".join(file.split("/")[:2 if file.startswith("src/") else 1])
        text = slow.setdefault(f"{folder}/CMakeLists.txt", f"\nset_target_properties(dodyn_{Path(folder).name} PROPERTIES UNITY_BUILD OFF)\n")
        slow[f"{folder}/CMakeLists.txt"] = text + (
            f"set_source_files_properties({file.removeprefix(folder + '/')} PROPERTIES COMPILE_OPTIONS \"-O1;-D_GLIBCXX_ASSERTIONS\")\n")
    for file in run(["git", "ls-files"], cwd=ROOT, check=True).stdout.split("\n"):
        if not file or not (ROOT / file).is_file():
            continue
        text = (ROOT / file).read_bytes() + slow.get(file, "").encode()
        if file in by_file:
            body = text.decode()
            # at equal positions, opening insertions come last, so that they are innermost
            for begin, end, new in sorted(by_file[file], key=lambda e: (e[0], e[1]), reverse=True):
                body = body[:begin] + new + body[end:]
            text = f'#include "mutation.hpp"\n#line 1 "{copy / file}"\n{body}'.encode()
        write(copy / file, text)
        shutil.copymode(ROOT / file, copy / file)
    write(copy / "src/mutation.hpp", HEADER.encode())


# Where one program is not the whole: targets to build, and the command.
ELSEWHERE = {"test_farm": (["test_farm", "test_farm_mpi", "test_farm_leave", "test_farm_link_nlp_first", "test_farm_link_farm_first"],
                           ["ctest", "--test-dir", "BUILD", "-R", "^farm[.]", "--stop-on-failure"])}


def test_program(file):
    parts = file.split("/")
    return "test_" + (parts[1] if parts[0] == "src" else parts[0])


def targets(program):
    """Returns all test programs of a folder except the long ones."""
    if program in ELSEWHERE:
        return ELSEWHERE[program][0]
    text = (ROOT / "tests" / program.removeprefix("test_") / "CMakeLists.txt").read_text()
    return ["test_" + m[1] for m in re.finditer(r"^dodyn_test\((\w+)([^)]*)\)", text, re.M) if "LABELS long" not in m[2]]


def build(copy, binary, chosen, options, jobs):
    """Builds the copy; drops changes that do not compile. Returns the numbers of those dropped."""
    programs = sorted({test_program(c[0]) for c in chosen} | {"test_" + t for t in options.then})
    # no order between libraries, so that a change that does not compile does not delay other folders
    configure = ["cmake", "-S", copy, "-B", binary, "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release",
                 "-D", "CMAKE_OPTIMIZE_DEPENDENCIES=ON"]
    dropped = set()
    while True:
        write_copy(copy, chosen, dropped)
        run(configure + [f"-D{d}" for d in options.D], check=True)
        result = run(["cmake", "--build", binary, "--parallel", str(jobs), "--target",
                      *(target for p in programs for target in targets(p)), "--", "-k", "0"])
        if result.returncode == 0:
            return dropped
        wrong = {(Path(m[1]).resolve(), int(m[2])) for m in re.finditer(r"^(\S+?\.cpp):(\d+):", result.stdout, re.M)}
        failed = {Path(m[1]).resolve() for m in re.finditer(r"^(\S+?\.cpp):\d+:\d+: (?:fatal )?error", result.stdout, re.M)}
        new = {k for k, (file, line, _, _) in enumerate(chosen) if k not in dropped and ((copy / file).resolve(), line) in wrong}
        if not new:  # the message names another line: drops all changes of that file
            new = {k for k, (file, _, _, _) in enumerate(chosen) if k not in dropped and (copy / file).resolve() in failed}
        if not new:
            sys.exit(result.stdout[-4000:] + "\ntests/mutate.py: the copy in build/mutate does not compile; see above")
        dropped |= new


def run_program(command, k, limit, folder):
    """Returns the result of a command's tests: "killed by TEST", "survived" or "survived, never run"; and the seconds."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        os.chmod(scratch, 0o755)  # tests become other users
        met = Path(scratch) / "met"
        environment = dict(os.environ, DODYN_MUTATION=str(k), DODYN_MUTATION_MET=str(met), TMPDIR=scratch)
        begin = time.monotonic()
        try:
            done = run(command, env=environment, timeout=limit, cwd=scratch,
                       start_new_session=True)
        except subprocess.TimeoutExpired:
            return f"killed: longer than {limit:.0f} s", limit
        seconds = time.monotonic() - begin
        if done.returncode == 0:
            return ("survived" if met.exists() else "survived, never run"), seconds
        test = re.search(r"\[  FAILED  \] (\S+)", done.stdout)
        return f"killed by {test[1].rstrip(',')}" if test else f"killed: exit code {done.returncode}", seconds


def run_tests(binary, program, k, limit, folder):
    """Runs all test programs of a folder until one kills the change. Returns the result and the seconds."""
    if program in ELSEWHERE:
        return run_program([word.replace("BUILD", str(binary)) for word in ELSEWHERE[program][1]], k, limit, folder)
    at, ends, seconds = binary / "tests" / program.removeprefix("test_"), [], 0.0
    for target in targets(program):
        how, its = run_program([str(at / target), "--gtest_fail_fast", "--gtest_brief=1"], k, limit, folder)
        seconds += its
        if how.startswith("killed"):
            return how, seconds
        ends.append(how)
    return min(ends, key=len), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="REF", help="only lines that differ from this commit")
    parser.add_argument("--sample", type=int, metavar="N", help="only N of the lines, at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", nargs="*", default=[], help="of these places only those in these folders")
    parser.add_argument("--list", action="store_true", help="print the places and stop")
    parser.add_argument("--then", nargs="*", default=[], metavar="FOLDER", help="folders whose tests see a survivor next")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that compile or test at a time")
    parser.add_argument("-D", action="append", default=[], metavar="KEY=VALUE", help="for CMake")
    options = parser.parse_args()
    chosen = [place for place in choose(options)
              if not options.folder or test_program(place[0]).removeprefix("test_") in options.folder]
    if not chosen:
        sys.exit("tests/mutate.py: no place to change; name another --base, or --sample")
    if options.list:
        for k, (file, line, words, _) in enumerate(chosen):
            print(f"{k} {file}:{line}: {words}")
        return
    copy, binary = ROOT / "build/mutate", ROOT / "build/mutate/build/release"
    dropped = build(copy, binary, chosen, options, options.jobs)
    folder = tempfile.mkdtemp(prefix="dodyn-mutate-")
    os.chmod(folder, 0o755)
    programs = sorted({test_program(c[0]) for c in chosen} | {"test_" + t for t in options.then})
    seconds = {}
    for program in programs:
        how, seconds[program] = run_tests(binary, program, -1, 3600.0, folder)
        if not how.startswith("survived"):
            sys.exit(f"tests/mutate.py: {program} fails without a change ({how}); repair it first")

    def judge(k):
        ends = []
        for program in dict.fromkeys([test_program(chosen[k][0]), *("test_" + t for t in options.then)]):
            how, _ = run_tests(binary, program, k, 20.0 + 5.0 * seconds[program], folder)
            if how.startswith("killed"):
                return how
            ends.append(how)
        return min(ends, key=len)  # met by some program

    tested = [k for k in range(len(chosen)) if k not in dropped]
    survivors = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for k, how in zip(tested, pool.map(judge, tested)):
            file, line, words, _ = chosen[k]
            survivors += how.startswith("survived")
            print(f"{k} {file}:{line}: {words}: {how}", flush=True)
    for k in sorted(dropped):
        file, line, words, _ = chosen[k]
        print(f"{k} {file}:{line}: {words}: does not compile", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(tested)} changes ran, {survivors} survived, {len(dropped)} did not compile")
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
