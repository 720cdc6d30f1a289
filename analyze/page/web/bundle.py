#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the page's template of index.html, page.css and main.js with its modules, by esbuild and d3.

  bundle.py --esbuild FILE --output FILE [--depfile FILE]     writes the template
  bundle.py --esbuild FILE --check                            exit 1 if esbuild doesn't find the modules of d3

The script and the style stand in the page; its Content-Security-Policy allows these two, by their hashes, and no other.
msreport puts the data in the places of @META@ and @DATA@, which are no scripts.
"""
import argparse
import base64
import hashlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
D3 = ("d3-scale", "d3-shape")
MODULES = "/usr/share/nodejs"       # of Debian's packages
BROWSERS = "chrome88,firefox113,safari16.4"     # those that have DecompressionStream('deflate'), or nearly so


def run(esbuild, *words, stdin=None):
    environment = dict(os.environ)
    environment["NODE_PATH"] = os.pathsep.join(filter(None, (environment.get("NODE_PATH"), MODULES)))
    return subprocess.run([esbuild, *words], input=stdin, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, encoding="utf-8")


def bundled(esbuild, name, *words):
    done = run(esbuild, os.path.join(HERE, name), "--bundle", "--minify", "--charset=utf8", f"--target={BROWSERS}",
               "--legal-comments=none", "--log-level=warning", *words)
    if done.returncode:
        sys.exit(f"bundle.py: {name}: {done.stderr.strip()}")
    sys.stderr.write(done.stderr)
    return done.stdout.strip()


def source(text):
    """The hash of an element's content, as the policy has it."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def template(esbuild):
    with open(os.path.join(HERE, "index.html"), encoding="utf-8") as file:
        html = file.read()
    script, style = bundled(esbuild, "main.js", "--format=iife"), bundled(esbuild, "page.css")
    assert "</script" not in script.lower() and "<!--" not in script and "</style" not in style.lower()
    parts = {"@SCRIPT-HASH@": source(script), "@STYLE-HASH@": source(style), "@STYLE@": style, "@SCRIPT@": script}
    for place, text in parts.items():
        assert html.count(place) == 1, place
        html = html.replace(place, text)
    for place in ("@META@", "@DATA@"):
        assert html.count(place) == 1, place
    return html


def check(esbuild):
    with tempfile.TemporaryDirectory() as folder:
        done = run(esbuild, "--bundle", "--outfile=" + os.path.join(folder, "out.js"), "--log-level=error",
                   stdin="".join(f'import "{name}";\n' for name in D3))
    sys.stderr.write(done.stderr)
    return done.returncode and 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--esbuild", default="esbuild")
    parser.add_argument("--output")
    parser.add_argument("--depfile")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        return check(args.esbuild)
    html = template(args.esbuild)
    with open(args.output, "w", encoding="utf-8") if args.output else sys.stdout as file:
        file.write(html)
    if args.depfile:
        with open(args.depfile, "w", encoding="utf-8") as file:
            parts = sorted(name for name in os.listdir(HERE) if name.endswith((".js", ".css", ".html", ".py")))
            file.write(f"{args.output}: " + " ".join(os.path.join(HERE, name) for name in parts) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
