"""The ONNX operators and networks that the engine's tests run: a writer, and the cases in groups."""
