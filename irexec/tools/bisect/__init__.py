"""The release in which a failure appeared or disappeared, found in virtual environments with one release each."""
