"""Tasks of TotalSegmentator as program packages, and small made weights with its structure of folders."""
