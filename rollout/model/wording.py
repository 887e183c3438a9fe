"""How much of a text is said, where only so much of it fits?"""


def shortened(text: str, most: int) -> str:
    """The text; where it has more than ``most`` characters its beginning, and how many are left out."""
    if len(text) <= most:
        return text
    kept = max(most - len(f"... ({len(text)} characters more)"), 0)
    return f"{text[:kept]}... ({len(text) - kept} characters more)"
