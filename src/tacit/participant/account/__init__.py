"""A participant's account: its profile folder, the platform's API, and the keys it trusts."""
