"""Lambda functions and what a deploy does with them."""
