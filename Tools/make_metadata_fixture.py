"""Makes the fixture of clinical metadata: 20 rows as people write them, and what each of them means.

    python Tools/make_metadata_fixture.py

The reference for `ClinicalMetadata`: rows are read with Python's csv module; ages are divided by 100 and clamped.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path

from skin.photographs import SITES

FOLDER = Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "ClinicalMetadata"
MISSING = {"", "na", "n/a", "nan", "null", "none", "unknown"}
# Byte-order mark, CRLF and LF, quotes with commas, quotes and line ends in them, columns in another order.
TABLE = (
    "\ufeffsex,image,note,anatom_site_general,age_approx\r\n"
    "male,a01,,anterior torso,55\r\n"
    "female,a02,plain,head/neck,40.0\n"
    'female,a03,"a, comma",lateral torso,0\r\n'
    'male,a04,"a ""quoted"" word",lower extremity,100\r\n'
    'MALE,a05,"two\nlines",oral/genital,85\r\n'
    "Female,a06,,palms/soles,\r\n"
    "unknown,a07,,posterior torso,NA\r\n"
    ",a08,,upper extremity,nan\r\n"
    "male,a09,,,35\r\n"
    "female,a10,,unknown,62.5\r\n"
    ",a11,,,\r\n"
    "NA,a12,,N/A,N/A\r\n"
    "male,a13,,Head/Neck,  70 \r\n"
    'female,"a14",,"head/neck","15"\r\n'
    "male,a15,,anterior torso,120\r\n"
    "male,a16,,anterior torso,-5\r\n"
    "female,a17,,palms/soles,1e1\r\n"
    "female,a18,,posterior torso,.5\r\n"
    "null,a19,,none,null\r\n"
    "\r\n"
    "male,a20,last without line end,upper extremity,99"
)


def known(text: str) -> str | None:
    """None for what is written where nothing is known."""
    return None if text.strip().lower() in MISSING else text.strip()


def vector(row: dict[str, str]) -> list[float]:
    """[age / 100 in 0...1 or 0, 1 where the age is missing, 0 male 1 female 2 unknown, index of the site]."""
    age = known(row["age_approx"])
    share = 0.0 if age is None else min(max(float(age) / 100, 0.0), 1.0)
    sex = {"male": 0.0, "female": 1.0}.get((known(row["sex"]) or "").lower(), 2.0)
    site = (known(row["anatom_site_general"]) or "unknown").lower()
    return [share, float(age is None), sex, float(SITES.index(site))]


def main() -> None:
    argparse.ArgumentParser(description="Make the fixture of clinical metadata.").parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "table.csv").write_bytes(TABLE.encode())
    rows = list(csv.DictReader(io.StringIO(TABLE.lstrip("\ufeff"), newline="")))
    cases = [{"image": row["image"], "vector": vector(row)} for row in rows]
    text = json.dumps({"sites": SITES, "cases": cases}, indent=1)
    (FOLDER / "expected.json").write_text(text + "\n")
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
