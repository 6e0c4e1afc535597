"""RapidOCR's wheels, which have networks of PaddleOCR: to a model package that reads text."""
