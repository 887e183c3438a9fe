"""Bring one change to a fleet of Kubernetes clusters.

The packages, in reading order:

* ``model``       what things are: frozen values, parsed once
* ``placement``   which clusters?
* ``strategies``  which of them now?
* ``planning``    what writes follow?
* ``fleet``       what we know, kept current event by event
* ``api``         the wire shapes: decode, validate, encode
* ``hub``         where objects live: memory, a file, a Kubernetes API server
* ``operate``     what a person does to a rollout while it runs: pause, approve, undo
* ``runtime``     who drives: work queue, timers, one engine thread
* ``sim``         simulated agents and virtual time
* ``cli``         what a person types

Imports go down this list only (``tests/test_layers.py``). Nothing in the first four packages reads a clock.
"""
