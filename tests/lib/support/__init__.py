"""Helpers that tests share: running an operator in both ways, and comparing with OpenVINO."""
