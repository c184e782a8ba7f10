"""What the functions that devices call share: requests, identity, rate limits, problems."""
