"""`python -m evalsuite` is the console script."""

from evalsuite.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
