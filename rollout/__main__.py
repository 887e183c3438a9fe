"""``python -m rollout``."""

from rollout.cli.main import main

if __name__ == "__main__":
    main()
