#!/usr/bin/env python3
"""Reports how the pages read: words a sentence by page, and expressions that readers have to read twice. It is a report, not a test.

    docs/site/prose.py                  a line for each page
    docs/site/prose.py PAGE ...         sentences of more than 25 words and avoided expressions of these pages
    docs/site/prose.py --messages       messages and descriptions of the C++ sources, of four words and more, with their places
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGEST = 25  # words, of a sentence that is understood at first reading
AVOID = (r"told|tells?|telling|bef[ae]ll(?:en)?|whoever|wherefrom|so (?:many|much|far|long)|goes? on|gone on|begun anew|for ever|worth having|no walk|at odds|"
         r"(?:one|that|some) of those|the same of|what there (?:is|are)|as it (?:is|stands)|dear(?:er)?|hence|but for|all but|beside|thereof|wherein|in vain|"
         r"(?:a|one|two|three) (?:half|third|quarter|fifth|tenth|thousandth)s? (?:less|more|of)|nine of ten")  # fmt: skip


def prose(text):
    """The page without code, tables, pictures and headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    kept = []
    for line in text.splitlines():
        if re.match(r"\s*\||!\[|#|---", line) or line.startswith("    "):
            line = ""
        kept.append(line)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", "\n".join(kept))


def sentences(text):
    """Pairs of the number of words and the sentence."""
    found = []
    for paragraph in re.split(r"\n\s*\n|\n\s*(?=[*-] |\d+\. )", re.sub(r"`[^`]*`", "CODE", text)):
        paragraph = re.sub(r"^([*-] |\d+\. )", "", " ".join(paragraph.split()))
        for sentence in re.split(r"(?<=[.!?:])\*{0,2}\s+(?=[A-Z\"(*\d])|(?<=[.!?])\s+(?=dodyn\b)", paragraph):
            words = len(sentence.split())
            if words > 2:
                found.append((words, sentence))
    return found


TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|'(?:[^'\\]|\\.)+'|\#include[^\n]*|[;{}]|[^\s"'/;{}]+|/""", re.S)


def messages(source):
    """Pairs of a line and a message: the text literals of one C++ statement, with CODE for each expression between them."""
    text, parts, line, adjacent = source.read_text(encoding="utf-8"), [], 0, False
    for token in TOKEN.finditer(text + ";"):
        if token[0].startswith(("//", "/*", "#include")):
            continue
        if token[0] in ";{}":
            message = " ".join(" ".join(parts).split())
            if len(re.findall(r"[a-z]{2,}", message)) >= 4:
                yield line, message
            parts = []
        elif token["text"] is None:
            adjacent = False
            continue
        elif adjacent:
            parts[-1] += token["text"]
        else:
            line = line if parts else text.count("\n", 0, token.start()) + 1
            parts += ["CODE"] * bool(parts) + [token["text"]]
        adjacent = token["text"] is not None


def print_messages():
    for source in sorted(path for folder in ("src", "surrogate", "apps") for path in (ROOT / folder).rglob("*.[ch]pp")):
        for line, message in messages(source):
            avoided = re.findall(rf"\b(?:{AVOID})\b", message, re.I)
            longest = max((words for words, _ in sentences(message)), default=0)
            note = f" [{longest} words]" * (longest > LONGEST) + f" [avoid: {', '.join(avoided)}]" * bool(avoided)
            print(f"{source.relative_to(ROOT)}:{line}:{note} {message}")


def main():
    if sys.argv[1:] == ["--messages"]:
        return print_messages()
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if len(sys.argv) > 1:
        for page in map(pathlib.Path, sys.argv[1:]):
            text = prose(page.read_text(encoding="utf-8"))
            for words, sentence in sorted(sentences(text), reverse=True):
                if words > LONGEST:
                    print(f"{page}: {words} words: {sentence}")
            for match in re.finditer(rf"\b(?:{AVOID})\b", text, re.I):
                print(f"{page}: avoid: {' '.join(text[max(0, match.start() - 40) : match.end() + 40].split())}")
        return
    print(f"{'page':36} sentences  mean  90 %  longest  over {LONGEST}  avoided")
    total = [0, 0, 0, 0]
    for page in pages:
        text = prose(page.read_text(encoding="utf-8"))
        lengths = sorted(words for words, _ in sentences(text))
        if not lengths:
            continue
        long, avoided = sum(w > LONGEST for w in lengths), len(re.findall(rf"\b(?:{AVOID})\b", text, re.I))
        print(f"{page.relative_to(ROOT).as_posix():36} {len(lengths):9} {sum(lengths) / len(lengths):5.1f} {lengths[int(0.9 * len(lengths))]:5} "
              f"{lengths[-1]:8} {long:8} {avoided:8}")  # fmt: skip
        total = [a + b for a, b in zip(total, (len(lengths), sum(lengths), long, avoided))]
    print(f"{'all':36} {total[0]:9} {total[1] / total[0]:5.1f} {'':14} {total[2]:8} {total[3]:8}")


if __name__ == "__main__":
    main()
