"""The contract that releases are written to: JSON Schemas, the types that mirror them, reading and writing.

No arithmetic lives here. `verify` and `generators` both build on this package and on nothing of each other;
`schemas` itself imports neither.
"""
