"""How close an attack came: fits, measures, reports."""
