"""Does the project answer as Open Cluster Management's own code does? Vectors, and who judges them.

A suite turns the input of a vector into the project's answer and compares. Suites of pure decisions
agree completely; a suite of whole controller passes may differ where a predicate *on the input*
excuses it, and each predicate cites the row of the semantics that it stands for. Whatever no
predicate excuses is a failure.

To add a suite: write a module with a class that fits `suite.Suite`, and list it in `registry`.
"""
