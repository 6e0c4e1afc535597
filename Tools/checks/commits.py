#!/usr/bin/env python3
"""Checks the messages of the commits of a branch.

    Tools/checks/commits.py [--base REVISION]

A subject has at most 72 characters and begins with a verb in the imperative, or with an area and such a verb
("Journal: store paths once"). It states one idea: no semicolon. A blank line and at least one line of text follow.

Without --base, the commits after the merge base with origin/main are read; without such a branch nothing is checked. Merges,
and commits that do not descend from the one that added this check, are never read. Exit code 1 when a message is wrong.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT

SUBJECT_LIMIT = 72
# A closed list, because rules for endings accept nouns ("Figures of …") and reject verbs ("Need", "Process", "Bring").
VERBS = set(
    """
    abort accept account add adjust admit adopt align allocate allow announce answer apply ask assert assign attach avoid
    base begin benchmark bound break bring build bump cache calculate call cancel change check choose claim clarify classify
    clean clear clip close collect combine commit compare compile complete compress compute configure confirm connect
    consume continue convert copy correct count cover create crop cut decide declare decode defer define delete deny derive
    describe detach detect determine disable distinguish divide do document download draw drop edit embed enable encode end
    enforce ensure estimate evaluate exclude exit expand expect explain export expose extend extract fail fall fetch fill
    filter find finish fit fix flush follow forbid forget format free fuse generate get give group guard guess handle have
    hide hold honor honour identify ignore implement import improve include increase index infer inline insert inspect
    install interpolate interpret isolate join judge keep label launch lay leave let limit link list load lock log look
    lower make map mark match measure merge migrate mirror mock move name narrow normalise normalize note obey omit open
    order orient overlap pack pad parse pass pin place plan prefer prepare preserve print process profile propagate protect
    prove provide publish put quote raise read rebuild recognise recognize reconcile record recover reduce refer refuse
    reject release rely remove rename render reorder repair repeat replace report request require reread resample rescale
    reserve reset resolve respect restart restore restrict resume retain retry return reuse revert review rewrite round run
    sample save scale scan schedule search select send separate serialise serialize set share shorten show shrink simplify
    skip sort specify speed spell split start state stop store stream strip submit suggest support suspend switch take
    terminate test throw tidy time trace track train transform treat trim truncate try turn unify unpack update upgrade use
    validate verify wait walk warn watch widen wrap write zero
    """.split()
)
AREA = re.compile(r"[\w./+-]+(?: [\w./+-]+){0,3}(?:, [\w./+-]+)*: +")
TRAILER = re.compile(r"[A-Z][A-Za-z-]+-[A-Za-z-]+: \S")


def wrong_message(message: str) -> list[str]:
    """What is wrong with a message of a commit; empty where it follows the rules."""
    lines = message.rstrip().split("\n")
    subject = lines[0]
    found = []
    if len(subject) > SUBJECT_LIMIT:
        found.append(f"the subject has {len(subject)} characters; the limit is {SUBJECT_LIMIT}")
    if ";" in subject:
        found.append("the subject has a semicolon: one idea per commit")
    area = AREA.match(subject)
    words = subject[area.end() if area else 0 :].split()
    verb = re.sub(r"\W+$", "", words[0]).lower() if words else ""
    if verb not in VERBS:
        found.append(f"'{verb}' is not a known imperative; if it is a verb, add it to VERBS in Tools/checks/commits.py")
    if len(lines) > 1 and lines[1].strip():
        found.append("the line after the subject is not blank")
    if not any(line.strip() and not TRAILER.match(line) for line in lines[1:]):
        found.append("the body is empty: state the reason, and figures where the commit is about speed or memory")
    return found


class Repository:
    """A git repository, read through the command line of git."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *arguments: str) -> str | None:
        """The output of a command of git, or nothing where it fails."""
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    def base(self) -> str | None:
        """The last commit that has landed, as far as this clone knows it."""
        return self.git("merge-base", "HEAD", "origin/main")

    def commits(self, base: str, check: str = "Tools/checks/commits.py") -> list[str]:
        """The commits after a base that were made with this check in place, oldest first."""
        added = (self.git("log", "--diff-filter=A", "--format=%H", "--", check) or "").split()
        if not added:
            return []
        since = ["rev-list", "--reverse", "--no-merges", "--ancestry-path", f"{added[-1]}..HEAD", f"^{base}"]
        return (self.git(*since) or "").split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="the commit before the first one to check; default: the merge base with origin/main")
    options = parser.parse_args()
    repository = Repository(ROOT)
    base = options.base or repository.base()
    if base is None:
        print("Skipped: there is no branch origin/main to compare with; --base names a commit.")
        return
    if repository.git("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}") is None:
        parser.error(f"{base} is not a commit of this repository")
    commits = repository.commits(base)
    wrong = 0
    for commit in commits:
        message = repository.git("log", "-1", "--format=%B", commit) or ""
        faults = wrong_message(message)
        wrong += bool(faults)
        for fault in faults:
            print(f"{commit[:10]} {message.splitlines()[0] if message else ''}\n    {fault}")
    print(f"{len(commits)} commits, {wrong} with a message to correct")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
