"""What the tests share: running an operator both ways, and OpenVINO as a live oracle."""
