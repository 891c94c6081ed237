"""`tacit participant`: review, sign, seal and submit on one's own machine, and check afterwards."""

from tacit.cli.participant.app import app as app
