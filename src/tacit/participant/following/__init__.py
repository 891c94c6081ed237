"""A participant's machine follows series: it signs, seals, shows and checks their runs."""
