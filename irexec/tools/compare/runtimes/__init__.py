"""Runtimes for comparisons: irexec itself, OpenVINO, ONNX Runtime, folders of recorded values, separate processes."""
