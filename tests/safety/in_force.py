"""Which rules does the model hold the engine to that the engine did not always have?

Put a row's name here in the same change that brings the rule into the engine.
"""

IN_FORCE: frozenset[str] = frozenset()
"""Of ``S13`` (a gap that nobody saw is added to soaks), ``S19`` (an empty mandatory group holds),
``S20`` (a waiver is for one revision), ``row 15`` (nothing is touched or passes on decisions of others
that changed a moment ago: who is named no more gets nothing, and no stage passes).
"""
