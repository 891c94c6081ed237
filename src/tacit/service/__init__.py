"""The platform: HTTP API, storage, and what runs behind them."""
