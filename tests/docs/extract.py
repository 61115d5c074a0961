#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""extract.py OUTPUT.cpp PAGE.md...: the C++ in pages, as one translation unit that compiles if all of it does.

Every block fenced as ```cpp is taken, each in a scope of its own; of a table with a column "sinter", the code in that
column, each piece in a block of its own. Comments in a page, which readers do not see, say more:

  <!-- cpp                          code that belongs to the next block or table, or behind the one before
  sn::tensor<float, 1> x(3);        if it begins with a check
  -->
  <!-- cpp: with the block before -->       the next block goes on in the same scope
  <!-- cpp: not compiled, REASON -->        the next block is left out
  <!-- snippets: one program, which is run -->   all blocks of the page are one scope, and main calls it

Inside a block, what can only stand in a namespace (includes, templates, structs, functions) is put there, the rest into
a function. #line tells compilers where it stands in the page.
"""
import re
import sys
from pathlib import Path

PRELUDE = """#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <sinter/sinter.hpp>

namespace sn = sinter;

[[maybe_unused]] static void check(bool right, int line = __builtin_LINE()) {
  if (right) return;
  std::printf("line %d: not what the page says\\n", line);
  std::exit(1);
}
"""
OF_A_NAMESPACE = re.compile(r"(template|struct|class|enum|namespace|inline|constexpr auto \w+\(|using \w+( =|::)|int main|void \w+\()")


class Scope:
    """Blocks that see each other's names."""

    def __init__(self, page):
        self.page, self.includes, self.declarations, self.statements = page, [], [], []

    def add(self, number, lines):
        """Adds code, whose first line is `number` of the page, statement by statement."""
        depth, begin, inside_comment = 0, 0, False
        for i, line in enumerate(lines):
            code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'|//.*', "", line)
            depth += sum(code.count(c) for c in "({[") - sum(code.count(c) for c in ")}]")
            ends = depth == 0 and re.search(r"([;}]|^#.*|^)\s*$", code)
            # A lambda or a list that is not over, or a template's head.
            if ends:
                self.put(number + begin, lines[begin : i + 1])
                begin = i + 1
        if begin < len(lines):
            self.put(number + begin, lines[begin:])

    def put(self, number, lines):
        code = [line for line in lines if line.strip() and not line.lstrip().startswith("//")]
        if not code:
            return
        text = f'#line {number} "{self.page}"\n' + "\n".join(lines) + "\n"
        if code[0].startswith("#include"):
            self.includes.append(text)
        elif OF_A_NAMESPACE.match(code[0]):
            self.declarations.append(text)
        else:
            self.statements.append(text)


def scopes_of(path):
    """The scopes of a page, and whether it is a program to be run."""
    lines = path.read_text().split("\n")
    program = bool(lines) and lines[0] == "<!-- snippets: one program, which is run -->"
    found, hidden, joined, left_out = [], [], program, False
    i = 0
    while i < len(lines):
        line = lines[i]
        begin = i + 1
        if line == "<!-- cpp":
            while lines[i] != "-->":
                i += 1
            code = lines[begin:i]
            if found and code and code[0].startswith("check("):
                found[-1].add(begin + 1, code)
            else:
                hidden.append((begin + 1, code))
        elif line == "<!-- cpp: with the block before -->":
            joined = True
        elif line.startswith("<!-- cpp: not compiled, "):
            left_out = True
        elif line.startswith("<!-- cpp"):
            sys.exit(f"{path}:{begin}: a comment that extract.py does not know: {line}")
        elif line.startswith("|") and hidden and " sinter " in line:
            column = [cell.strip() for cell in line.split("|")].index("sinter")
            found.append(Scope(path.as_posix()))
            for number, code in hidden:
                found[-1].add(number, code)
            while lines[i + 1].startswith("|"):
                i += 1
                for piece in re.findall(r"`([^`]+)`", lines[i].split("|")[column]):
                    found[-1].put(i + 1, [f"{{ {piece}; }}"])
            hidden = []
        elif re.match(r"\s*```cpp", line):
            while not re.match(r"\s*```\s*$", lines[i + 1]):
                i += 1
            if not left_out:
                if not (joined and found):
                    found.append(Scope(path.as_posix()))
                for number, code in hidden:
                    found[-1].add(number, code)
                found[-1].add(begin + 1, lines[begin : i + 1])
            hidden, joined, left_out = [], program, False
            i += 1
        i += 1
    return found, program


def main():
    output, pages = sys.argv[1], [Path(page) for page in sys.argv[2:]]
    scopes, run = [], []
    for page in pages:
        found, program = scopes_of(page)
        if program:
            run.append(len(scopes))
        scopes += found
    text = [PRELUDE]
    text += dict.fromkeys(re.sub(r"#line.*\n", "", include) for scope in scopes for include in scope.includes)
    for i, scope in enumerate(scopes):
        text.append(f"namespace snippet_{i} {{\n")
        text += scope.declarations
        text.append("[[maybe_unused]] static void run() {\n")
        text += scope.statements
        text.append("}\n}\n")
    if run:
        text.append("int main() {\n" + "".join(f"  snippet_{i}::run();\n" for i in run) + "}\n")
    Path(output).write_text("".join(text))
    print(f"{len(scopes)} scopes of {len(pages)} pages")


if __name__ == "__main__":
    main()
