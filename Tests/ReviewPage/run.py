#!/usr/bin/env python3
"""Runs the tests of the review page in headless Chromium. Needs Python 3.11 and Chromium, and NiiVue for the viewer's tests.

    python3 Tests/ReviewPage/run.py [NAME ...]     names as unittest takes them, such as test_marks or test_list.SpeedTests
"""

import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import browser
import support


def main():
    if "--help" in sys.argv or "-h" in sys.argv:
        print(__doc__)
        return 0
    start = time.monotonic()
    loader = unittest.TestLoader()
    names = sys.argv[1:]
    suite = loader.loadTestsFromNames(names) if names else loader.discover(str(HERE))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    support.close()
    print(f"{result.testsRun} tests of the review page in {time.monotonic() - start:.0f} s")
    if browser.executable() is None:
        print("\n*** THE REVIEW PAGE WAS NOT TESTED: Chromium is missing (apt-get install --no-install-recommends chromium) ***\n")
    elif result.skipped:
        print(f"\n*** {len(result.skipped)} TESTS OF THE REVIEW PAGE WERE SKIPPED: {result.skipped[0][1]} ***\n")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
