#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds: one that fails shows why, the build packages alone are enough, and what is installed.

  builds.py --build DIR --source DIR [--only PART]
"""

import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from harness import Problem, arguments, have, need, run_cases, Scratch, skip    # noqa: E402


class Bench:
    def __init__(self, build, source, folder):
        self.build, self.source, self.folder = build, source, folder

    def copy(self, name):
        """The tree's files, in a folder of their own; the packages are taken for installed."""
        copy = os.path.join(self.folder, name)
        shutil.copytree(self.source, copy, ignore=lambda folder, names: [
            name for name in names if folder == self.source and (name == ".git" or name.startswith("build"))])
        write(os.path.join(copy, "scripts/setup"), "#!/bin/sh\n")
        return copy


def write(path, text, mode="w"):
    with open(path, mode, encoding="utf-8") as file:
        file.write(text)


def run(words, folder, **more):
    """Status and output, both streams in one."""
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **more)
    return done.returncode, done.stdout


def failing(bench, name, file, text, wanted):
    """Both scripts fail where `file` has `text` at its end, and their output has `wanted`."""
    copy = bench.copy(name)
    write(os.path.join(copy, file), text, "a")
    for script in ("./demo", "./check"):
        status, output = run([script], copy)
        if status == 0 or not re.search(wanted, output):
            raise Problem(f"{script}: exit {status}, without {wanted}: {output[-1500:]}")
        if re.search("Traceback|No such file", output):
            raise Problem(f"{script} goes on after a failed build: {output[-1500:]}")
    return "shown"


def compiling_fails(bench):
    return failing(bench, "compiling", "base/hex.c", "int planted(void) { return never_declared; }\n",
                   "error: .never_declared. undeclared")


def configuring_fails(bench):
    return failing(bench, "configuring", "meson.build", "error('planted')\n", "ERROR: .*planted")


HIDDEN = {"c++", "g++", "clang++", "icpc", "icpx", "nvc++", "pgc++", "cmake", "scdoc", "valgrind"}
SMALL = [("manual pages", "scdoc"), (r"exact engine .*", "Valgrind's development files"),
         ("tests", "cmocka, a C\\+\\+ compiler")]


def link_all(files, folder):
    """Links in a new folder, as a search path finds the files: the first of a name."""
    os.mkdir(folder)
    for file in files:
        link = os.path.join(folder, os.path.basename(file))
        if not os.path.lexists(link):
            os.symlink(file, link)
    return folder


def path_without(hidden, folder):
    """A search path without some commands."""
    programs = [file for path in os.environ["PATH"].split(":") for file in glob.glob(os.path.join(path, "*"))]
    return link_all([file for file in programs if os.path.basename(file) not in hidden], folder)


def build_packages_alone(bench):
    """No C++ compiler, scdoc, Valgrind nor cmocka: Meson goes on, and says what the build will not have."""
    need("pkg-config")
    paths = subprocess.run(["pkg-config", "--variable=pc_path", "pkg-config"], capture_output=True, text=True,
                           check=True).stdout.strip()
    packages = [file for path in paths.split(":") for file in glob.glob(os.path.join(path, "*.pc"))]
    env = {**os.environ, "PKG_CONFIG_PATH": "", "PKG_CONFIG_LIBDIR": link_all(
        [file for file in packages if not os.path.basename(file).startswith("cmocka")], bench.folder + "/packages"),
        "PATH": path_without(HIDDEN, bench.folder + "/bin")}
    env.pop("CXX", None)
    status, output = run(["meson", "setup", os.path.join(bench.folder, "small"), bench.source], bench.folder, env=env)
    if status != 0:
        raise Problem(f"exit {status}: {output[-1500:]}")
    for what, missing in SMALL:
        if not re.search(rf"(?m)^ *{what} *: *no: {missing} missing$", output):
            raise Problem(f"the summary does not say that {missing} is missing: {output[-1500:]}")
    return f"{len(SMALL)} parts are missing"


def commands_are_gone(bench):
    """Of installed packages: scripts/lint goes on with the other checks, scripts/setup says which and ends."""
    if not have("apt-get", "clang-tidy", "shellcheck", "git"):
        return "skip: nothing to hide"
    path = path_without({"clang-tidy", "shellcheck", "apt-get"}, bench.folder + "/gone")
    write(os.path.join(path, "apt-get"), "#!/bin/sh\nexit 1\n")     # a test installs nothing
    os.chmod(os.path.join(path, "apt-get"), 0o755)
    env = {**os.environ, "PATH": path}
    if run(["git", "rev-parse", "HEAD"], bench.source)[0] == 0:
        status, output = run(["scripts/lint", "shellcheck", "clang-tidy", "javascript"], bench.source, env=env)
        if status != 1 or output != ("not ok shellcheck: shellcheck is not installed (apt install shellcheck)\n"
                                     "not ok clang-tidy: clang-tidy is not installed (apt install clang-tidy)\n"
                                     "ok javascript\n"):
            raise Problem(f"lint: exit {status}: {output}")
    status, output = run(["scripts/setup", "test"], bench.source, env=env)
    if "packages are missing" in output or "Installing missing packages" in output:
        return "skip: some packages of the tests are not installed"
    said = [f"setup: the command {name} is not in PATH (apt install --reinstall {name})"
            for name in ("clang-tidy", "shellcheck")]
    if status != 1 or output.splitlines() != said:
        raise Problem(f"setup: exit {status}: {output}")
    return "said"


DOCUMENTS = ["README.md", "CHANGELOG.md", "FORMAT.md", "LICENSE", "exactness.md", "internals/recorder.md",
             "examples/leaks.c"]


def installed(bench):
    """The documentation's folder, whose README has no link to a file that isn't there."""
    run(["meson", "install", "-C", bench.build.root, "--no-rebuild", "--tags", "doc,man", "--destdir", bench.folder],
        bench.folder)
    folders = glob.glob(os.path.join(bench.folder, "**/doc/msrec"), recursive=True)
    if len(folders) != 1:
        raise Problem(f"documentation in {folders}")
    missing = [name for name in DOCUMENTS if not os.path.isfile(os.path.join(folders[0], name))]
    with open(os.path.join(folders[0], "README.md"), encoding="utf-8") as file:
        links = re.findall(r"\]\(([^):#]+)\)", file.read())
    missing += [name for name in links if not os.path.exists(os.path.join(folders[0], name))]
    if missing or not links:
        raise Problem(f"not installed: {missing}")
    return f"{len(DOCUMENTS)} files, {len(links)} links"


def revision(bench):
    """The version that commands print has the commit."""
    if not have("git") or run(["git", "rev-parse", "HEAD"], bench.source)[0] != 0:
        return "skip: not a Git repository"
    status, output = run([bench.build.msrec, "--version"], bench.folder)
    found = re.fullmatch(r"msrec \d+\.\d+\.\d+ \(([0-9a-f]+)(-dirty)?\)\n", output)
    if status != 0 or not found or run(["git", "cat-file", "-e", found.group(1)], bench.source)[0] != 0:
        raise Problem(output)
    return output.strip()


def archive(bench):
    """An archive that git made has no repository, and still says its commit."""
    if not have("git", "tar") or run(["git", "rev-parse", "HEAD"], bench.source)[0] != 0:
        return "skip: not a Git repository"
    folder = os.path.join(bench.folder, "archive")
    os.mkdir(folder)
    status, output = run("git archive HEAD scripts/revision | tar -x -C " + folder, bench.source, shell=True)
    if status != 0:
        raise Problem(output)
    head = run(["git", "rev-parse", "HEAD"], bench.source)[1].strip()
    said = run(["scripts/revision", "1.2.3"], folder)[1]
    found = re.fullmatch(r"1\.2\.3 \(([0-9a-f]{7,})\)\n", said)
    if not found or not head.startswith(found.group(1)):
        raise Problem(said)
    if run(["scripts/revision", "1.2.3", "1.2.3-1"], folder)[1] != "1.2.3 (1.2.3-1)\n":
        raise Problem("a package's number is not preferred")
    return said.strip()


CASES = [("compiling fails", compiling_fails), ("configuring fails", configuring_fails),
         ("build packages alone", build_packages_alone), ("commands are gone", commands_are_gone),
         ("documentation", installed), ("revision", revision), ("archive", archive)]


def main():
    options = arguments(__doc__.split("\n", 1)[0], "--only", ("--source", {"required": True}))
    need("meson", "ninja")
    if not options.build.has("analyze/page/web/page.html"):
        skip("this build has no page, which ./check asks for")
    with Scratch() as folder:
        return run_cases(CASES, Bench(options.build, os.path.abspath(options.source), folder), options.only)


if __name__ == "__main__":
    sys.exit(main())
