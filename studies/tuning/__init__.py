"""Tuning the settings of a search with Optuna, as the paper does (section 4.5)."""
