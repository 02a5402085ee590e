"""`python -m tests [options of pytest]`: every test, in two processes at a time, as there are two cores at least.

One runs the tests that share a Spark session, and shows how far it is; what the other one has found, it says in the
end.
"""

import subprocess
import sys
import tempfile

NOTHING_CHOSEN = 5  # pytest's exit code if no test was chosen, by `-k` for instance


def main(options: list[str]) -> int:
    """Run; 0 if all tests passed that were chosen."""
    pytest = [sys.executable, "-m", "pytest"]
    if "-m" in options:
        return subprocess.run([*pytest, *options], check=False).returncode
    with tempfile.TemporaryFile() as output:
        others = subprocess.Popen([*pytest, "-m", "not shared", *options], stdout=output, stderr=subprocess.STDOUT)
        try:
            codes = {subprocess.run([*pytest, "-m", "shared", *options], check=False).returncode, others.wait()}
        finally:
            others.kill()
            output.seek(0)
            sys.stdout.write(output.read().decode())
    return 0 if 0 in codes and codes <= {0, NOTHING_CHOSEN} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
