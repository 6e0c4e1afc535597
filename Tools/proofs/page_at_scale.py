#!/usr/bin/env python3
"""The review page of a large batch: first paint, memory of the browser, bytes, and seconds of reports, whole and after one item.

    Tools/proofs/page_at_scale.py NOCTURNE [--items 10000 100000] [--preview none|slices|full] [--opened 3]

For each number of items, makes a batch of that many tiny volumes (`Tests/Fixtures/Models/threshold`, without surfaces), has the
report written from nothing, again without a change, and by runs with one more item whose name comes last and first; says how
many files of the page's data each of them wrote. Opens `index.html` in headless Chromium, which has no connection to any host, a
few times. The figures are the medians. JS heap is that of the page after garbage collection; resident memory is the proportional
set size of all processes of the browser, less that of the same browser with an empty page. Set TMPDIR to choose the disk. Exit code 1
if a count is wrong.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT, THRESHOLD_MODEL
from nocturne_tools.processes import descendants, proportional_bytes
from nocturne_tools.small_volumes import tiny_volume

sys.path.insert(0, str(ROOT / "Tests/ReviewPage"))
import browser

PAINTED = "performance.getEntriesByName('first-contentful-paint').length > 0"
TIMES = """(() => { const at = name => performance.getEntriesByName(name)[0].startTime;
    return [at('first-contentful-paint'), at('nocturne-first-items'), at('nocturne-all-items')]; })()"""


def timed(command: list[str]) -> str:
    """Wall and processor time of a command that has to succeed."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{wall:.2f} s, {processor:.2f} s of processor time"


def written(out: Path, since: int) -> tuple[int, int]:
    """How many files in `review/data` changed after `since` (ns), and how many there are."""
    files = list((out / "review/data").iterdir())
    return sum(path.stat().st_mtime_ns > since for path in files), len(files)


def browser_bytes(client: browser.Browser) -> int:
    """Proportional set size of all processes of a browser."""
    return sum(map(proportional_bytes, descendants(client.process.pid)))


def opened(page: Path, count: int) -> dict[str, Any]:
    """Opens a page in a new browser: its times in ms, bytes, requests to hosts, and whether it found all items."""
    client = browser.Browser()
    try:
        time.sleep(1)
        empty = browser_bytes(client)
        client.open(page)
        client.wait(PAINTED)
        paint, first, everything = client.evaluate(TIMES)
        time.sleep(1)
        after = browser_bytes(client)
        client.call("Performance.enable")
        client.call("HeapProfiler.collectGarbage")
        heap = {each["name"]: each["value"] for each in client.call("Performance.getMetrics")["metrics"]}
        client.open(page)
        client.wait(PAINTED)
        again, _, _ = client.evaluate(TIMES)
        shown = client.evaluate("document.querySelector('#shown').innerText")
        begun = client.evaluate("performance.now()")
        client.press("/")
        client.type(f"v{count - 1:07}")
        client.wait("document.querySelector('#shown').innerText.startsWith('Showing 1 of')")
        outside = [url for url in client.requests if not url.startswith(("file:", "data:", "blob:", "about:"))]
        return {
            "paint": paint,
            "again": again,
            "first": first,
            "all": everything,
            "search": client.evaluate("performance.now()") - begun,
            "heap": heap["JSHeapUsedSize"],
            "nodes": heap["Nodes"],
            "resident": after - empty,
            "shown": shown,
            "faults": client.problems + outside,
        }
    finally:
        client.close()


def reports(nocturne: str, folder: Path, count: int, options: list[str]) -> None:
    """Times reports and runs over a finished batch, and prints them."""
    out, inputs = folder / "out", folder / "in"
    run = [nocturne, "run", str(inputs), "--output", str(out), "--quiet", *options]
    shutil.rmtree(out / "review")
    for name in ("index.html", "batch.json", "statistics.csv"):
        (out / name).unlink(missing_ok=True)
    review = [nocturne, "review", str(out)]
    steps = [("report from nothing", review), ("report without a change", review), ("run without a new item", run)]
    steps += [(f"run with one more item, the {place} by name", run) for place in ("last", "first")]
    for name, command in steps:
        if "one more" in name:
            (inputs / ("w.nii" if "last" in name else "a.nii")).write_bytes(tiny_volume(count))
        since = time.time_ns()
        took = timed(command)
        changed, files = written(out, since)
        print(f"  {name}: {took}, {changed} of {files} data files written", flush=True)


def measure(nocturne: str, count: int, preview: str, repeats: int) -> list[str]:
    """Prints the figures of a batch of `count` items; what was wrong."""
    options = ["--model", str(THRESHOLD_MODEL), "--meshes", "none", "--preview", preview]
    faults = []
    with tempfile.TemporaryDirectory(prefix="page-at-scale-") as temporary:
        folder, out = Path(temporary), Path(temporary) / "out"
        (folder / "in").mkdir()
        for index in range(count):
            (folder / "in" / f"v{index:07}.nii").write_bytes(tiny_volume(index))
        took = timed([nocturne, "run", str(folder / "in"), "--output", str(out), "--quiet", *options])
        completed = json.loads((out / "batch.json").read_text())["counts"]["completed"]
        print(f"{completed:,} items: {took}", flush=True)
        data = [path.stat().st_size for path in (out / "review/data").iterdir()]
        page = (out / "index.html").stat().st_size
        print(f"  index.html {page:,} bytes, {len(data)} data files of {sum(data):,} bytes", flush=True)
        views = [opened(out / "index.html", count) for _ in range(repeats)]
        median = {
            name: statistics.median(view[name] for view in views)
            for name in views[0]
            if name not in ("shown", "faults")
        }
        print(
            f"  first contentful paint {median['paint']:.0f} ms, opened again {median['again']:.0f} ms, "
            f"first items {median['first']:.0f} ms, all items {median['all']:.0f} ms, search {median['search']:.0f} ms\n"
            f"  JS heap {median['heap'] / 2**20:.1f} MiB, {median['nodes']:.0f} nodes, browser {median['resident'] / 2**20:.0f} MiB "
            "more than with an empty page",
            flush=True,
        )
        for view in views:
            faults += view["faults"]
            if view["shown"] != f"Showing {count:,} of {count:,} items.":
                faults.append(f"the page says: {view['shown']}")
        reports(nocturne, folder, count, options)
        if completed != count:
            faults.append(f"{completed} of {count} completed")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--items", type=int, nargs="+", default=[10_000])
    parser.add_argument("--preview", default="none")
    parser.add_argument("--opened", type=int, default=3)
    arguments = parser.parse_args()
    if browser.executable() is None:
        raise SystemExit("Chromium is missing")
    faults = []
    for count in arguments.items:
        faults += measure(arguments.nocturne, count, arguments.preview, arguments.opened)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
