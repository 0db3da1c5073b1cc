"""Declared alternatives: the other ways in which a number may have been computed, a file a kind of statistic."""
