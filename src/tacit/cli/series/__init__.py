"""`tacit series` for operators, and `tacit participant follow`."""

from tacit.cli.series.operator import app as app
