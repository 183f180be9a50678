"""The weights: the `.bin` mapped, its packed types and strings, and writing a `.bin`."""
