"""`python -m benchmarks [name] [options]`: list the benchmarks, or run one."""

import importlib
import pkgutil
import runpy
import sys

import benchmarks

NOT_PROGRAMS = {"harness", "peers", "__main__"}


def main() -> int:
    """List or run."""
    names = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in NOT_PROGRAMS)
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        if len(sys.argv) > 1 and sys.argv[1] not in ("-h", "--help"):
            print(f"there is no benchmark {sys.argv[1]!r}.", file=sys.stderr)
        print("python -m benchmarks NAME [options], where NAME is one of\n")
        for name in names:
            purpose = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").partition("\n")[0]
            print(f"  {name.ljust(max(map(len, names)))}  {purpose}")
        return 0 if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") else 2
    name = sys.argv.pop(1)
    runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
