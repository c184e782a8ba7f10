"""The model behind docs/scale.md beside this machine at two sizes: ``python -m benchmarks.scale``.

What the first size took a message are the model's figures; by them the model's own functions say
what the second size needs, and that is compared with what it took.
"""
