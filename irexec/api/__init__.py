"""What programs import: OpenVINO's own Python API, the opsets, and aliases of modules."""
