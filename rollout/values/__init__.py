"""Values of single clusters: which fields of a template differ from cluster to cluster.

Pure. `rules` has what people ask for, `faults` what is wrong with that, `paths` how they name a field,
`expressions` the CEL that gives a value; `rendering` puts them together for one cluster, `contents` for all.
"""
