"""`tacit run`: what operators do with runs, through the platform's API."""

from tacit.cli.run.operator import app as app
