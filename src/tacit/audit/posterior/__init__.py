"""What independent weights can be, given the bits of `top:k`: draws from the posterior."""
