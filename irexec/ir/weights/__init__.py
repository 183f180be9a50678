"""The weights: the `.bin` mapped, its packed types and strings, and the writing of one."""
