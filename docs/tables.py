"""Tables that a program writes into a document, between two lines of it."""  # noqa: INP001


def tables_put(document: str, tables: str, *, begin: str, end: str, name: str) -> str:
    """The document ``name`` with these tables between its markers."""
    before, _, rest = document.partition(begin)
    _, found, after = rest.partition(end)
    assert found, f"{name} has no lines {begin!r} and {end!r}, in this order"
    return f"{before}{begin}\n\n{tables}\n\n{end}{after}"
