"""Arrays that come and go: written as text, read from files, shown in short, saved."""
