#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""links.py REPOSITORY: passes when the links of README.md, CONTRIBUTING.md, CHANGELOG.md and docs/ to files and headings
lead somewhere. (What mkdocs says of its pages, it says of files alone.)"""
import re
import sys
from pathlib import Path


def prose(page):
    """A page without code and comments."""
    text = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S)
    return re.sub(r"^\s*```.*?^\s*```\s*$", "", text, flags=re.S | re.M)


def anchors(page):
    """Headings as both GitHub and mkdocs name them."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", prose(page), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        found.add(re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower()))
    return found


def main():
    root = Path(sys.argv[1])
    pages = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted((root / "docs").glob("*.md"))
    wrong = 0
    for page in pages:
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", prose(page))):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            # These pages exist in the site alone.
            if path.startswith("reference/"):
                continue
            if not target.exists():
                print(f"{page.relative_to(root)}: there is no {path}")
                wrong += 1
            elif anchor and anchor not in anchors(target):
                print(f"{page.relative_to(root)}: {path or page.name} has no heading #{anchor}")
                wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
