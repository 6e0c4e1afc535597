"""What the scripts in Tools share: reference implementations, synthetic data, and the harness of the proofs.

Scripts find it by one line, `sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))`, so that they run
without being installed. `pip install -e Tools` installs it for use elsewhere.

ONNX Runtime 1.31 sends telemetry from the moment it is imported; `disable_telemetry_events` comes too late, and sockets of
native code pass no hook of Python. Importing this package first switches it off.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
