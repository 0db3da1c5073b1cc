"""Whatever makes a release: importers for other people's logs, planted releases whose truth is known.

May import `schemas`, never `verify`: the two counts share no grader and no aggregation.
"""
