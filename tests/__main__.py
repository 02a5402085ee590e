"""`python -m tests [options of pytest]`: every test, in two processes at a time, as there are two cores at least.

The first has the Spark session that tests share, and shows how far it is; what the other one has found, it says in the
end. Each takes the next file that the other has not taken (`support/turns.py`).
"""

import os
import subprocess
import sys
import tempfile

from tests.support.turns import SHARED, TURNS

NOTHING_CHOSEN = 5  # pytest's exit code if no test was chosen, by `-k` for instance


def main(options: list[str]) -> int:
    """Run; 0 if all tests passed that were chosen."""
    pytest = [sys.executable, "-m", "pytest", "-p", "tests.support.turns", *options]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as turns:
        environment = {**os.environ, TURNS: turns}
        others = subprocess.Popen(pytest, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            first = subprocess.run(pytest, env={**environment, SHARED: "yes"}, check=False)
            codes = {first.returncode, others.wait()}
        finally:
            others.kill()
            output.seek(0)
            sys.stdout.write(output.read().decode())
    return 0 if 0 in codes and codes <= {0, NOTHING_CHOSEN} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
