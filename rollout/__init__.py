"""Bring one change to a fleet of Kubernetes clusters.

The packages, in reading order:

* ``model``       what things are: frozen values, parsed once
* ``placement``   which clusters?
* ``strategies``  which of them now?
* ``calendars``   when may a cluster be touched?
* ``measuring``   does it do well?
* ``planning``    what writes follow?
* ``api``         the wire shapes: decode, validate, encode
* ``fleet``       what we know, kept current event by event
* ``account``     how does a rollout stand? the tree that every view renders
* ``hub``         where objects live: memory, a file, a Kubernetes API server
* ``operate``     what a person does to a rollout while it runs: pause, approve, undo
* ``runtime``     who drives: work queue, timers, one engine thread
* ``sim``         simulated agents and virtual time
* ``analysis``    what would happen, how would it go, why does it wait?
* ``dashboard``   what a person sees and presses in a browser
* ``cli``         what a person types

A package imports only packages above it (``tests/test_layers.py``). Nothing in the first five reads a clock.
"""

__version__ = "0.1.0"
