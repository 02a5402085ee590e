"""What is built, installed and imported: the wheel, the source distribution, and a stranger's package beside ours."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

import coalesce
from coalesce.distribution import NAME, REQUIREMENTS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel and the source distribution, built by the backend that pyproject.toml names."""
    directory = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(directory)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return directory


@pytest.fixture
def installed(built: Path, tmp_path: Path) -> Path:
    """The wheel in a directory of its own, as pip would lay it out in site-packages."""
    directory = tmp_path / "site-packages"
    with zipfile.ZipFile(wheel(built)) as archive:
        archive.extractall(directory)
    return directory


def wheel(built: Path) -> Path:
    """The only wheel there."""
    (found,) = built.glob("*.whl")
    return found


def metadata(installed: Path) -> Message:
    """What the installed distribution says of itself."""
    (found,) = installed.glob("*.dist-info/METADATA")
    return message_from_bytes(found.read_bytes())


def python(installed: Path, program: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a program that finds the installed package before any other."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, *options, "-c", program],
        cwd=installed,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def install_stranger(installed: Path) -> None:
    """What `pip install coalesce` does beside ours: its `__init__.py` replaces the one that is there."""
    (installed / "coalesce/__init__.py").write_text("__version__ = '0.3'\n\ndef coalesce(iterable):\n    pass\n")
    (installed / "coalesce-0.3.dist-info").mkdir()


def test_the_wheel_is_enough_to_work_with(installed: Path) -> None:
    """Imported from the wheel alone: the version, the command, and every file that is not Python."""
    ran = python(installed, "import coalesce; print(coalesce.__file__, coalesce.__version__, coalesce.create.__name__)")
    assert ran.stdout.split() == [str(installed / "coalesce/__init__.py"), coalesce.__version__, "create"], ran.stderr
    (entry,) = (installed / f"coalesce_tables-{coalesce.__version__}.dist-info").glob("entry_points.txt")
    assert "coalesce = coalesce.cli.main:main" in entry.read_text()
    ran = python(installed, "import sys; from coalesce.cli.main import main; sys.exit(main(['--help']))")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "describe" in ran.stdout
    package = ROOT / "coalesce"
    data = {str(f.relative_to(ROOT)) for f in package.rglob("*") if f.suffix in (".java", ".properties", ".typed")}
    assert len(data) > 10
    assert [name for name in sorted(data) if not (installed / name).is_file()] == []


def test_the_source_distribution_has_all_that_the_tests_and_the_makefile_need(built: Path) -> None:
    """From it, `make test`, `make bench` and every page of the documentation work as from a clone."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    for name in ["Makefile", "constraints.txt", "pyproject.toml", "LICENSE", "README.md", "docs/getting-started.md"]:
        assert name in names
    tracked = {
        str(f.relative_to(ROOT))
        for top in ["benchmarks", "coalesce", "docs", "manifests", "tests"]
        for f in (ROOT / top).rglob("*")
        if f.is_file() and "__pycache__" not in f.parts and not f.name.startswith(".")
    }
    assert sorted(tracked - names) == []


def test_the_package_index_shows_a_readme_without_dead_links(installed: Path) -> None:
    """README.md, whose links to files of the project are text there."""
    shown = metadata(installed).get_payload()
    assert isinstance(shown, str)
    assert shown.startswith("# coalesce")
    assert re.findall(r"\]\((?!https?:)[^)]*\)", shown) == []
    assert len(shown) > 0.9 * len((ROOT / "README.md").read_text())


def test_the_names_of_the_distribution_agree(installed: Path) -> None:
    """pyproject.toml, the package and the messages say the same; nothing is called `coalesce` for pip."""
    assert PROJECT["name"] == NAME == coalesce.__distribution__ == metadata(installed)["Name"]
    assert metadata(installed)["Version"] == coalesce.__version__
    extras = PROJECT["optional-dependencies"]
    assert {extra: [requirement] for extra, requirement in REQUIREMENTS.items()} == {e: extras[e] for e in REQUIREMENTS}


def test_the_lower_bounds_are_those_that_are_run() -> None:
    """Each `>=` of a dependency is the release in constraints-oldest.txt: no bound that nobody has tried."""
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    oldest = dict(line.split("==") for line in lines)
    wanted = [*PROJECT["dependencies"], *REQUIREMENTS.values()]
    for requirement in wanted:
        found = re.match(r"([\w-]+)(?:\[[^\]]*\])?>=([\d.]+)", requirement)
        assert found is not None
        name, bound = found.groups()
        assert f"{oldest[name]}.".startswith(f"{bound}."), requirement


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
)
def test_no_page_sends_people_to_the_other_package(page: str) -> None:
    """`pip install coalesce` installs a stranger's; a page may only say so."""
    text = (ROOT / page).read_text()
    assert re.findall(r"pip install \"?coalesce(?![-_])(?!` installs something else)", text) == []
    assert re.findall(r"`coalesce\[", text) == []


def test_beside_the_other_package_ours_is_not_imported(installed: Path) -> None:
    """Whichever was installed last, and after the other was removed: a sentence that names what to do, never an
    AttributeError from a package that is half of each.
    """
    ours = (installed / "coalesce/__init__.py").read_text()
    advice = "Run `pip uninstall coalesce coalesce-tables`, then install coalesce-tables again"

    install_stranger(installed)  # theirs after ours
    command = "import sys; from coalesce.cli.main import main; sys.exit(main(['--help']))"
    assert python(installed, command).stderr.startswith(f"coalesce: the package 'coalesce' in {installed} is not whole")
    for program in [command, "from coalesce.spark.commands.each_batch import each_batch"]:
        said = python(installed, program).stderr.splitlines()[-1]
        assert f"the package 'coalesce' in {installed} is not whole: its __init__.py is that of another" in said
        assert advice in said

    (installed / "coalesce/__init__.py").write_text(ours)  # ours after theirs
    said = python(installed, "import coalesce").stderr.splitlines()[-1]
    assert "the distribution coalesce 0.3 is installed there too" in said
    assert advice in said

    (installed / "coalesce/__init__.py").unlink()  # theirs removed again, and our file with it
    (installed / "coalesce-0.3.dist-info").rmdir()
    # Without site-packages: a checkout that is installed there for development would be found instead.
    said = python(installed, "from coalesce.errors import CoalesceError", "-S").stderr.splitlines()[-1]
    assert "it has lost its __init__.py" in said
    assert advice in said


def test_a_broken_installation_is_an_error_of_ours_and_of_importing(installed: Path) -> None:
    """`try: import coalesce / except ImportError` works, as for any package that cannot be imported."""
    (installed / "coalesce-0.3.dist-info").mkdir()
    program = (
        "try:\n    import coalesce\nexcept ImportError as error:\n    print(*[c.__name__ for c in type(error).__mro__])"
    )
    assert python(installed, program).stdout.split()[:3] == ["BrokenInstallation", "CoalesceError", "ImportError"]
