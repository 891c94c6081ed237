"""Studies, tuning, statistics, tables and figures: the paper's evaluation in one command."""
