"""What people fill in: fields that say what is wrong with them, and forms made of them."""
