"""`python -m coalesce` is the command `coalesce`."""

import sys

from coalesce.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
