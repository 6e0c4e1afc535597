"""Files in NRRD, MetaImage, HEIC and WebP of every kind that is read, and damaged ones, for the proof that compares readers."""
