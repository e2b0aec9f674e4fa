"""Prints the reference of the Python package as a page: its public names with their signatures, members and docstrings. Nothing is imported, so neither
NumPy nor h5py is needed. Usage: python_reference.py > PAGE.md"""

import ast
import inspect
import pathlib
import re

PACKAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "python" / "dodyn"


def module(name):
    return ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))


def docstring(node):
    """Returns the docstring as Markdown. A paragraph with columns of names and meanings becomes a code block."""
    paragraphs = inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")
    for k, paragraph in enumerate(paragraphs):
        if re.match(r"\S.*?\S {2,}\S", paragraph):
            paragraphs[k] = "\n".join("    " + line for line in paragraph.splitlines())
    return "\n\n".join(paragraphs)


def signature(node):
    """Returns the call of a function, with types and defaults, without `self`; a property has its type alone."""
    text = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))
    if {ast.unparse(d).split(".")[-1] for d in node.decorator_list} & {"property", "cached_property"}:
        return f"{node.name}: {ast.unparse(node.returns)}" if node.returns else node.name
    return f"{node.name}({text})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def public(node):
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_")


def print_class(node):
    text = docstring(node)
    print(f"### {node.name}\n")
    bases = [ast.unparse(base) for base in node.bases]
    start = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    print(f"    class {node.name}" + (f"({', '.join(bases)})" if bases else "") + "\n")
    if start:
        print("    " + signature(start).replace("__init__", node.name).replace(" -> None", "") + "\n")
    if text:
        print(text + "\n")
    fields = [n for n in node.body if isinstance(n, ast.AnnAssign) and not ast.unparse(n.target).startswith("_") and "ClassVar" not in ast.unparse(n.annotation)]
    if fields:
        print("| field | type | default |\n|---|---|---|")
        for field in fields:
            default = f"`{ast.unparse(field.value)}`" if field.value is not None else ""
            kind = ast.unparse(field.annotation).replace(" | ", " or ")  # a bar would end the cell
            print(f"| `{ast.unparse(field.target)}` | `{kind}` | {default.replace(' | ', ' or ')} |")
        print()
    for member in node.body:
        if public(member):
            print(f"**`{signature(member)}`**\n")
            if docstring(member):
                print(docstring(member) + "\n")


def main():
    init = module("__init__")
    print("# The Python package\n\nThis page lists the public names of `dodyn`, with their arguments and members. [Drive dodyn from Python](python.md) has the tasks.\n")
    for statement in init.body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        names = [alias.name for alias in statement.names]
        nodes = {n.name: n for n in module(statement.module).body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
        if statement.module == "model":  # the sections of models and motions
            names = [n.name for n in nodes.values() if isinstance(n, ast.ClassDef) and not n.name.startswith("_")]
        print(f"## dodyn.{statement.module}\n" if statement.module == "model" else f"## {', '.join(names)}\n")
        for name in names:
            node = nodes.get(name)
            if isinstance(node, ast.ClassDef):
                print_class(node)
            elif node:
                print(f"### {name}\n\n    dodyn.{signature(node)}\n\n{docstring(node)}\n")


main()
