"""Brainchop's MeshNet models: from TensorFlow.js's layers format to a model package."""
