"""What a parser may give, and a little more, for the tests of this folder."""

import math

from hypothesis import strategies as st

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["null", "NaN", "2026-11-03T14:05:09Z", "0001-01-01T00:00:00+23:59"]
)
json_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)

numbers_out_of_bounds = (
    st.integers() | st.floats() | st.sampled_from([10**400, math.nan, -math.inf])
)
"""Beyond what JSON may hold: a parser can give these before anything checks them."""
