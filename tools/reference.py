#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reference.py FOLDER: the reference as Markdown pages, made from the headers: what is documented with `///` outside of
`detail` and private parts, with its declaration. A comment that no declaration follows is an error."""
import re
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include" / "sinter"

# Page, title, headers or folders. What is only there for other headers is left out.
PAGES = [
    ("tensor", "Tensors and views", ["tensor"]),
    ("expressions", "Functions and operators", ["expr"]),
    ("functions", "Fused functions and graphs", [
        "function/fuse.hpp", "function/program.hpp", "function/frozen.hpp", "function/function.hpp",
        "function/evaluate.hpp", "function/evaluation_cache.hpp", "function/graph_builder.hpp",
        "function/graph_function.hpp", "function/plan_cache.hpp", "function/calibration.hpp", "function/custom.hpp",
        "verify_plan.hpp", "function/plan_verification.hpp"]),
    ("layers", "Layers", ["layers"]),
    ("training", "Training", ["training"]),
    ("files", "Files", ["files"]),
    ("onnx", "Models of ONNX", ["onnx/load.hpp"]),
    ("egraph", "The e-graph engine", [
        "egraph/language.hpp", "egraph/enode.hpp", "egraph/egraph.hpp", "egraph/pattern.hpp", "egraph/rule.hpp",
        "egraph/runner.hpp", "egraph/report.hpp", "egraph/extract.hpp", "egraph/proof_recorder.hpp", "egraph/explain.hpp",
        "egraph/check_explanation.hpp", "egraph/print.hpp", "egraph/print_explanation.hpp"]),
    ("graph", "Graphs: text, checks, the interpreter", [
        "graph/graph.hpp", "graph/op.hpp", "graph/parse.hpp", "graph/print.hpp", "graph/dot.hpp", "graph/verify.hpp",
        "graph/bind.hpp", "graph/interpret.hpp", "graph/reference_tensor.hpp", "autodiff/expand.hpp"]),
    ("errors", "Errors and versions", ["support/error.hpp", "support/version.hpp"]),
]


def public_lines(lines):
    """Line numbers outside of `detail` and of private parts."""
    hidden, private = False, False
    for i, line in enumerate(lines):
        if re.match(r"namespace (\w+::)*detail \{", line):
            hidden = True
        elif re.match(r"\}  // namespace (\w+::)*detail", line):
            hidden = False
        elif re.match(r" +private:", line):
            private = True
        elif re.match(r" +public:|^\};", line):
            private = False
        elif not hidden and not private:
            yield i


def declaration_at(lines, i):
    """The declaration that begins at line i without its body, and the first line behind it."""
    text, depth, begin = [], 0, i
    while i < len(lines):
        line = re.sub(r"\s*//.*", "", lines[i]) if '"' not in lines[i] else lines[i]
        code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', lambda m: "_" * len(m[0]), line)
        for at, c in enumerate(code):
            if c in "([":
                depth += 1
            elif c in ")]":
                depth -= 1
            # A brace of a default argument, a member's value, or a requires expression opens no body.
            elif c == "{" and depth == 0 and not re.search(r"(=|return|requires\s*\(.*\)|requires)\s*$", code[:at]) \
                    and not re.search(r"\w\{$", code[: at + 1]):
                text.append(line[:at].rstrip())
                return "\n".join(text).strip("\n"), body_end(lines, i, at)
            elif c == ";" and depth == 0:
                text.append(line[: at + 1])
                return "\n".join(text).strip("\n"), i + 1
            elif c == "{":
                depth += 1
            elif c == "}":
                depth -= 1
        text.append(line.rstrip())
        i += 1
        if i - begin > 400:
            break
    return None, begin


def body_end(lines, i, at):
    depth = 0
    while i < len(lines):
        code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*', lambda m: "_" * len(m[0]), lines[i])
        for c in code[at:]:
            depth += (c == "{") - (c == "}")
            if c == "}" and depth == 0:
                return i + 1
        i, at = i + 1, 0
    return i


def whole_struct(lines, begin, end):
    """A struct or enum that is all data is shown whole."""
    body = lines[begin:end]
    if len(body) > 60 or not re.match(r"\s*(template.*)?(struct|enum|class)\b", " ".join(body[:2]).lstrip()):
        return None
    members = "\n".join(re.sub(r"//.*", "", line) for line in body[1:])
    return None if re.search(r"\)\s*(const)?\s*\{|private:|\boperator\b", members) else "\n".join(body)


def entries_of(path):
    lines = path.read_text().split("\n")
    shown = set(public_lines(lines))
    found, i, enclosing = [], 0, ""
    while i < len(lines):
        outer = re.match(r"(?:class|struct) (\w+)[^;]*$", lines[i])
        if outer:
            enclosing = outer[1]
        elif lines[i] == "};":
            enclosing = ""
        if i not in shown or not re.match(r"\s*///( |$)", lines[i]):
            i += 1
            continue
        begin, comment = i, []
        while re.match(r"\s*///", lines[i]):
            comment.append(re.sub(r"^\s*/// ?", "", lines[i]))
            i += 1
        declarations, is_type, whole = [], None, None
        # Overloads follow without a blank line and without a comment.
        while i < len(lines) and lines[i].strip() and not lines[i].lstrip().startswith(("//", "}", "public:", "private:")):
            text, after = declaration_at(lines, i)
            if text is None:
                break
            whole = whole_struct(lines, i, after)
            # What a constructor does with its members is no part of the declaration.
            text_alone = re.sub(r"\)\s*(noexcept)?\s*:\s(?!:).*$", ")", text, flags=re.S)
            text_alone = re.sub(r"^(\s*)inline (?=\w)", r"\1", text_alone, flags=re.M)
            declarations.append(whole or text_alone.rstrip(" ") + ("" if text.endswith(";") else ";"))
            is_type = re.match(r"\s*(template[^;]*?>\s*)?(requires[^\n]*\s*)?(class|struct)\s+(\w+)", text)
            i = i + text.count("\n") + 1 if is_type and not whole else after
            if is_type:
                break
        opened = is_type and not whole and not lines[begin].startswith(" ")
        if not declarations and not lines[i].startswith("#define"):
            sys.exit(f"{path}:{begin + 1}: a documentation comment that no declaration follows")
        if not declarations:
            declarations, i = [lines[i]], i + 1
        indent = len(declarations[0]) - len(declarations[0].lstrip())
        name = enclosing if indent else ""
        code = "\n".join("\n".join(line[indent:] if line[:indent].isspace() else line for line in d.split("\n"))
                         for d in declarations)
        found.append((name, code, comment))
        if opened:
            enclosing = is_type[4]
    return lines, found


def introduction(lines):
    """The comment that a header begins with."""
    out = []
    for line in lines[1:]:
        if not line.startswith("//"):
            break
        # What is indented is code.
        out.append(re.sub(r"^  (?=\s*\S)", "    ", line[3:]))
    return re.sub(r"^\n+|\n+$", "", "\n".join(out))


def as_markdown(comment):
    """Comments are Markdown, but for signs that it would take for its own."""
    text = "\n".join(comment)
    parts = re.split(r"(`[^`]*`|(?m:^    .*$))", text)
    return "".join(part if k % 2 else re.sub(r"([*_<\[\]#|])", r"\\\1", part) for k, part in enumerate(parts))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    index = ["# Reference", "", "Made from the headers, which are the place to look at for all that is said here.", ""]
    for page, title, sources in PAGES:
        headers = []
        for source in sources:
            path = INCLUDE / source
            headers += sorted(path.glob("*.hpp")) if path.is_dir() else [path]
        out = [f"# {title}", ""]
        for header in headers:
            lines, entries = entries_of(header)
            if not entries:
                continue
            out += [f"## {header.relative_to(INCLUDE.parent).as_posix()}", "", as_markdown([introduction(lines)]), ""]
            inner = re.search(r"^namespace sinter::inline SINTER_ABI::([\w:]+) \{", "\n".join(lines), re.M)
            out += [f"In `namespace sinter::{inner[1]}`.", ""] if inner else []
            for name, code, comment in entries:
                out += ["```cpp", *([f"// {name}"] if name else []), code, "```", "", as_markdown(comment), ""]
        (folder / f"{page}.md").write_text("\n".join(out))
        index.append(f"- [{title}]({page}.md)")
    (folder / "index.md").write_text("\n".join(index) + "\n")


if __name__ == "__main__":
    main()
