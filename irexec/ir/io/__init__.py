"""Files: reading them whole, replacing them together, and keeping outputs from overwriting inputs."""
