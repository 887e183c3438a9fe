"""Values of single clusters: which fields of a template differ from cluster to cluster, and by what rule.

Pure. `rules` has what people ask for, `paths` how they name a field, `expressions` the CEL that gives a
value, and `rendering` puts them together: what is this cluster to carry?
"""
