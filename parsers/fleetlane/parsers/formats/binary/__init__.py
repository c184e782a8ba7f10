"""Fixed layouts, declared in the flow file: the commonest firmware payload."""
