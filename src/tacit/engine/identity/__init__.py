"""Who is who: keys, certificates, and the config files that name them."""
