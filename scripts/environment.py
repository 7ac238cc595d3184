"""Make a virtual environment and install requirements into it; an interrupted call is continued.

    python3 scripts/environment.py DIRECTORY STAMP SUM FILE [FILE ...]

Only the standard library. What is whole is marked when it is whole: `.made` in the directory stands for the
environment with its pip, the stamp file (its content is the sum of the requirement files) for the packages.
Neither is there while something is being made.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts import fetching

MADE = ".made"
INSTALLING = ".installing"


class SetupError(Exception):
    """One sentence for the person at the terminal."""


def label_of(directory: Path) -> str:
    """What stands before each line: several environments are made side by side."""
    return "setup" if directory.name == ".venv" else f"setup, {directory.name}"


def announce(directory: Path, text: str) -> None:
    print(f"{label_of(directory)}: {text}", file=sys.stderr, flush=True)


def python_of(directory: Path) -> Path:
    return directory / "bin" / "python"


def is_whole(directory: Path) -> bool:
    """Whether the environment was finished and its Python still runs.

    A stamp stands for `.made` in environments from before `.made` was written.
    """
    if not (directory / MADE).exists() and not any(directory.glob(".stamp*")):
        return False
    try:
        return (
            subprocess.run([python_of(directory), "-c", ""], capture_output=True, check=False).returncode == 0
        )
    except OSError:
        return False


def make(directory: Path) -> None:
    """Make the environment and its pip from nothing; a half-made one is removed first."""
    doing = "making again, since it was not usable:" if directory.exists() else "making"
    announce(directory, f"{doing} {directory.name} with Python {sys.version.split()[0]}")
    shutil.rmtree(directory, ignore_errors=True)
    step = [sys.executable, "-m", "venv", "--without-pip", str(directory)]
    done = fetching.run(step, label_of(directory), lambda _: None, first=f"making {directory.name}")
    if done.status == 0:
        # Not by venv itself: it hides what ensurepip says.
        step = [str(python_of(directory)), "-m", "ensurepip", "--upgrade", "--default-pip"]
        done = fetching.run(
            step, label_of(directory), lambda _: None, first=f"putting pip into {directory.name}"
        )
    if done.status != 0:
        raise SetupError(f"the virtual environment {directory.name} could not be made: {fetching.why(done)}.")
    (directory / MADE).touch()


def forget_half_installed(directory: Path) -> int:
    """Remove the records of packages that pip did not finish, so that it installs them again. It writes
    RECORD last."""
    forgotten = 0
    for record in directory.glob("lib/python*/site-packages/*.dist-info"):
        if not (record / "RECORD").exists():
            shutil.rmtree(record)
            forgotten += 1
    for leftover in directory.glob("lib/python*/site-packages/~*"):
        if leftover.is_dir():
            shutil.rmtree(leftover)
    return forgotten


class Pip:
    """What pip is doing, out of its lines."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def state(self, line: str) -> str | None:
        words = line.split()
        if line.startswith(("Collecting ", "Requirement already satisfied: ")):
            name = words[1] if words[0] == "Collecting" else words[3]
            self.found.add(name)
            return f"{len(self.found)} packages so far, {name}"
        if words[:1] == ["Downloading"] and len(words) > 1:
            return (
                f"{len(self.found)} packages so far, downloading {words[1].rpartition('/')[2]}"
                f" {' '.join(words[2:])}".rstrip()
            )
        if words[:3] == ["Building", "wheel", "for"]:
            return f"building {words[3]}"
        if words[:3] == ["Installing", "collected", "packages:"]:
            return f"installing {len(words) - 3} packages"
        return None


def install(directory: Path, files: list[Path]) -> None:
    """Let pip install the requirements."""
    names = ", ".join(file.name for file in files)
    unfinished = directory / INSTALLING
    if unfinished.exists():
        again = forget_half_installed(directory)
        announce(
            directory,
            f"continuing with {directory.name}, which was interrupted"
            + (f"; half-installed packages: {again}" if again else ""),
        )
    unfinished.touch()
    announce(directory, f"installing {names} into {directory.name} with pip; minutes the first time")
    command = [str(python_of(directory)), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar", "off", *[word for file in files for word in ("-r", str(file))]]
    log = directory / ".pip.log"
    log.unlink(missing_ok=True)
    pip = Pip()
    done = fetching.run(
        [*command, "--log", str(log)], label_of(directory), pip.state, first="asking the package index"
    )
    if done.status != 0:
        # Why an index was not reached stands only there when pip was configured not to try again.
        logged = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        causes = [line for line in logged if "Could not fetch URL" in line]
        done = fetching.Finished(done.status, "\n".join([*causes, done.output]))
        tail = [] if fetching.reason(done.output) or done.status < 0 else done.output.splitlines()[-10:]
        host = "the package index"
        raise SetupError(
            "\n".join(
                [*tail, f"pip could not install {names} into {directory.name}: {fetching.why(done, host)}."]
            )
            + " Run the same command again: it continues from here."
        )
    log.unlink(missing_ok=True)
    unfinished.unlink()


def ensure(directory: Path, stamp: Path, wanted: str, files: list[Path]) -> None:
    """Make what is missing. Raises SetupError."""
    with fetching.locked(label_of(directory), files[0]):
        whole = is_whole(directory)
        if whole and stamp.is_file() and stamp.read_text(encoding="utf-8").strip() == wanted:
            return  # another call made it while this one waited
        if not whole:
            make(directory)
        (directory / MADE).touch()
        for old in directory.glob(".stamp*"):
            old.unlink()
        install(directory, files)
        fresh = stamp.with_name(f"{stamp.name}.new")
        fresh.write_text(wanted, encoding="utf-8")
        fresh.replace(stamp)


def main() -> int:
    name, stamp, wanted, *files = sys.argv[1:]
    directory = Path(name)
    label = label_of(directory)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # from a scripts/setup that is stopped
    try:
        ensure(directory, directory / stamp, wanted, [Path(file) for file in files])
    except SetupError as problem:
        print(f"{label}: {problem}", file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"{label}: {fetching.reason(str(problem)) or problem}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{label}: stopped. Run the same command again: it continues from here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
