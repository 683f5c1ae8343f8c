#!/usr/bin/env python3
"""Draws the terminal output of the README's first command as docs/report.svg, and its flame graph as docs/flame.svg.

    scripts/picture.py

Runs the example in a pseudo-terminal, because colours are used only on terminals, and writes its text as SVG. The
fastest of several runs is drawn, because it has the least noise.
"""
import os
import pathlib
import pty
import re
import sys
import time
from xml.sax.saxutils import escape

COMMAND = ["cargo", "run", "--quiet", "--release", "--example", "transformer"]
RUNS = 7
FLAME = pathlib.Path("traces-out/transformer/flame.svg")
CHAR, LINE, PAD = 7.8, 17, 16
# SGR escape parameter to CSS class; text with any other parameter is plain.
CLASSES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}
STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d6dae0; white-space: pre }
.b { font-weight: bold; fill: #fff } .d { fill: #8b93a1 } .r { fill: #f47067 } .g { fill: #7fc77f } .y { fill: #e2b860 } .c { fill: #6cc3d5 }
"""


def terminal_output():
    chunks = []

    def read(fd):
        data = os.read(fd, 4096)
        chunks.append(data)
        return data

    os.environ.pop("NO_COLOR", None)
    if pty.spawn(COMMAND, read) != 0:
        sys.exit("the example failed")
    return b"".join(chunks).decode().replace("\r\n", "\n")


def spans(line):
    """The parts of a line between escape sequences, each with its class."""
    kind = ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if code:
            kind = " ".join(CLASSES[one] for one in code[1].split(";") if one in CLASSES)
        elif part:
            yield kind, part


def draw(lines):
    width = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    size = (round(width * CHAR + 2 * PAD), len(lines) * LINE + 2 * PAD)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" viewBox="0 0 {size[0]} {size[1]}">'
    yield f"<style>{STYLE}</style>"
    yield f'<rect width="{size[0]}" height="{size[1]}" rx="8" fill="#1b1f27"/>'
    for row, line in enumerate(lines):
        column, y = 0, PAD + LINE * row + 12
        for kind, text in spans(line):
            # Each word is placed at its column, so that tables are aligned in any font.
            for word in re.finditer(r"\S+(?: \S+)*", text):
                x = PAD + CHAR * (column + word.start())
                attribute = f' class="{kind}"' if kind else ""
                length = CHAR * len(word[0])
                yield (
                    f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}"{attribute}>'
                    f"{escape(word[0])}</text>"
                )
            column += len(text)
    yield "</svg>\n"


def shown(output):
    """The first line, the tables of ops, the call tree and the last line, without the tables in between."""
    tables, rest = output.split("\x1b[1mDevices", 1)
    tree = rest[rest.index("\x1b[1mWhich op called which") :]
    tree = tree[: tree.index("Written:")]
    return f"{tables}\x1b[2m…\x1b[0m\n\n{tree}".rstrip().splitlines()


def main():
    os.chdir(pathlib.Path(__file__).parent.parent)
    runs = []
    for _ in range(RUNS):
        start = time.monotonic()
        output = terminal_output()
        runs.append((time.monotonic() - start, output, FLAME.read_text(encoding="utf-8")))
    _, output, flame = min(runs[1:])  # the first one may include compiling
    prompt = "\x1b[2m$\x1b[0m " + " ".join(word for word in COMMAND if word != "--quiet")
    docs = pathlib.Path("docs")
    docs.mkdir(exist_ok=True)
    (docs / "report.svg").write_text("\n".join(draw([prompt, *shown(output)])), encoding="utf-8")
    (docs / "flame.svg").write_text(flame, encoding="utf-8")


main()
