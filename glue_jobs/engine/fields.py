"""The fields of a structure as columns."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def fields_of(records: DataFrame, structure: Column) -> DataFrame:
    """Give the fields of a structure, computed once for each record.

    Spark moves a filter on a projection's columns below it, where each of them is computed anew: a
    JSON text was parsed once for every column that must not be null. It does not move one below
    what makes rows of an array.
    """
    return records.select(F.inline(F.array(structure)))
