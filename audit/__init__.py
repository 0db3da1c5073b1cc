"""The command line and the reports: parse, call, render, exit."""
