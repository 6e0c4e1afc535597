"""What the scripts in Tools share: reference implementations, synthetic data, and the harness of the proofs.

Scripts find it by one line, `sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))`, so that they run
without being installed. `pip install -e Tools` installs it for use elsewhere.
"""
