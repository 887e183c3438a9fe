"""Renders AddOnTemplates: objects for one cluster, works that carry them, and their health."""


class Unrenderable(Exception):
    """A template or a configuration cannot be honoured; the message names the object and the field.

    Whoever wrote it must mend it. It ends the pass of this add-on on this cluster and becomes a
    condition there.
    """


class Fatal(Unrenderable):
    """In profile ``ocm``: the reference stops here and writes nothing (semantics row T1)."""
