"""Why can an AddOnTemplate not be rendered?"""


class Unrenderable(Exception):
    """Whoever wrote the template or a configuration must act; the message names field and object.

    It ends this add-on's pass on this cluster, becomes a condition there, and is not raised further.
    """


class Fatal(Unrenderable):
    """In profile ``ocm``: the reference ends here without writing anything down (semantics row T1)."""
