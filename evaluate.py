"""`python evaluate.py --result_dir X --gold_dir gold` is `evalsuite run X --gold gold`."""

import sys

from evalsuite.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "run")
    raise SystemExit(main())
