"""From a flow's rule to the parser program that a child runs."""
