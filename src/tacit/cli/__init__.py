"""The command line: one thin command per room."""

from tacit.cli.main import main
