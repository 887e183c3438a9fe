"""Where do the two profiles answer differently, and is every difference one that was decided?

``python -m tests.differential [CASES]`` draws random inputs, asks profile ``ocm`` and profile
``strict``, and prints how many inputs each row of docs/semantics.md excuses. An input is classified by
looking at the input alone; what no row excuses must be answered alike, and where a row applies, the
answer must be what the rows say, not merely another one.
"""

import sys

from tests.differential.report import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
