"""OpenVINO's tools, as far as they read models: `tools.ovc`."""
