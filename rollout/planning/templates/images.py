"""Where is an image pulled from? Registries and their mirrors.

Source: OCM add-on template spec 2.6, semantics row T9.
"""

from collections.abc import Iterable

from rollout.model.addon_template import Mirror

_BOUNDARIES = ("/", ":", "@", "")


def pulled_from(image: str, registries: Iterable[Mirror], *, strict: bool) -> str:
    """The image as it is pulled.

    ``strict``: the longest source that ends at a boundary of the name counts, and an empty mirror
    is none; else OCM's rule, by which the last one that changes anything counts.
    """
    if strict:
        return _longest(image, registries)
    pulled = image
    for source, mirror in registries:
        found = _mirrored(image, source.removesuffix("/"), mirror.removesuffix("/"))
        if found != image:
            pulled = found
    return pulled


def _mirrored(image: str, source: str, mirror: str) -> str:
    if not source:
        last = image.rpartition("/")[2]
        return f"{mirror}/{last}" if mirror else last
    return mirror + image[len(source) :] if image.startswith(source) else image


def _longest(image: str, registries: Iterable[Mirror]) -> str:
    found: tuple[str, str] | None = None
    for source, mirror in registries:
        short, to = source.rstrip("/"), mirror.rstrip("/")
        rest = image[len(short) :]
        matches = image.startswith(short) and rest[:1] in _BOUNDARIES
        if to and image and (not short or matches):
            found = (short, to) if found is None or len(short) >= len(found[0]) else found
    return image if found is None else _mirrored(image, *found)
