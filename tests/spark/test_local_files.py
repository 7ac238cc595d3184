"""The local file system that tests give to Spark does what Hadoop's own does, without a process for each file."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from tests.support import local_files

pytestmark = pytest.mark.spark

NAMES = {"FileSystem": "fs.file.impl", "FileContext": "fs.AbstractFileSystem.file.impl"}
HADOOP = {
    "FileSystem": "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem",
    "FileContext": "org.apache.hadoop.fs.local.LocalFs",
}


def opened(spark: SparkSession, interface: str, name: str) -> Any:
    """The local file system of this class."""
    hadoop = spark._jvm.org.apache.hadoop  # type: ignore[union-attr]
    conf = hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
    conf.set(NAMES[interface], name)
    conf.set("fs.file.impl.disable.cache", "true")
    conf.set("fs.permissions.umask-mode", "027")
    uri = hadoop.fs.Path("file:///").toUri()
    if interface == "FileSystem":
        return hadoop.fs.FileSystem.get(uri, conf)
    return hadoop.fs.FileContext.getFileContext(uri, conf)


def said(what: Callable[[], Any]) -> str:
    """What it gives, or the class of its error; that of a mode that cannot be set is another where a process
    sets it."""
    try:
        return str(what())
    except Py4JJavaError as error:
        name = str(error.java_exception.getClass().getName())
        return (
            "mode not set"
            if name.endswith(("Shell$ExitCodeException", "nio.file.NoSuchFileException"))
            else name
        )


def after_all_calls(spark: SparkSession, fs: Any, interface: str, place: Path) -> list[str]:
    """What each call said, and what lies there then: names, kinds, modes, contents."""
    jvm: Any = spark._jvm
    hadoop = jvm.org.apache.hadoop.fs
    mode = hadoop.permission.FsPermission

    def at(name: str) -> Any:
        return hadoop.Path(f"file:{place / name}")

    def write(name: str, *, overwrite: bool) -> str:
        if interface == "FileSystem":
            out = fs.create(at(name), overwrite)
        else:
            flags = jvm.java.util.EnumSet.of(hadoop.CreateFlag.CREATE)
            if overwrite:
                flags.add(hadoop.CreateFlag.OVERWRITE)
            nothing = spark.sparkContext._gateway.new_array(hadoop.Options.CreateOpts, 0)  # type: ignore[union-attr]
            out = fs.create(at(name), flags, nothing)
        out.write(bytearray(name.encode()))
        out.close()
        return "written"

    def mkdir(name: str, bits: int) -> str:
        if interface == "FileSystem":
            return str(fs.mkdirs(at(name), mode(bits)))
        return str(fs.mkdir(at(name), mode(bits), True))

    def rename(source: str, target: str, *, overwrite: bool) -> str:
        if interface == "FileSystem":
            return str(fs.rename(at(source), at(target)))
        how = hadoop.Options.Rename.OVERWRITE if overwrite else hadoop.Options.Rename.NONE
        ways = spark.sparkContext._gateway.new_array(hadoop.Options.Rename, 1)  # type: ignore[union-attr]
        ways[0] = how
        return str(fs.rename(at(source), at(target), ways))

    def status(name: str) -> str:
        found = fs.getFileLinkStatus(at(name))
        owner = (found.getPermission().toString(), found.getOwner(), found.getGroup())
        return str((found.getLen(), found.isDirectory(), found.isSymlink(), *owner))

    place.mkdir()
    (place / "link").symlink_to("a")
    calls: list[Callable[[], str]] = [
        lambda: mkdir("d/e", 0o750),
        lambda: mkdir("sticky", 0o1777),
        lambda: write("a", overwrite=False),
        lambda: write("a", overwrite=False),
        lambda: write("b", overwrite=True),
        lambda: write("b", overwrite=True),
        lambda: write("a/below a file", overwrite=True),
        lambda: rename("a", "c", overwrite=False),
        lambda: rename("b", "c", overwrite=False),
        lambda: rename("b", "c", overwrite=True),
        lambda: rename("gone", "c", overwrite=True),
        lambda: rename("c", "d", overwrite=True),
        lambda: str(fs.setPermission(at("d"), mode(0o1705))),
        lambda: str(fs.setPermission(at("gone"), mode(0o700))),
        *(lambda name=name: status(name) for name in ("a", "b", "c", "d", "d/c", "link", "sticky", "gone")),
    ]
    answers = [said(call) for call in calls]
    for path in sorted(place.rglob("*")):
        lies = path.lstat()
        kind = stat.filemode(lies.st_mode)
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        answers.append(f"{path.relative_to(place)} {kind} {content!r}")
    return [each.replace(str(place), "PLACE") for each in answers]


@pytest.mark.parametrize("interface", sorted(NAMES))
def test_the_local_files_of_tests_are_those_of_hadoop(
    spark: SparkSession, tmp_path: Path, interface: str
) -> None:
    if not local_files.jars():
        pytest.skip("no Java compiler: tests use Hadoop's own")
    ours = local_files.SETTINGS[f"spark.hadoop.{NAMES[interface]}"]
    answers = [
        after_all_calls(spark, opened(spark, interface, name), interface, tmp_path / str(number))
        for number, name in enumerate((HADOOP[interface], ours))
    ]
    assert answers[0] == answers[1]
    assert {"written", "mode not set"} <= set(answers[0]) and any("drwx---r-t" in each for each in answers[0])


def test_spark_has_the_local_files_of_tests_or_its_own(spark: SparkSession) -> None:
    """Else the comparison above says nothing about the other tests."""
    hadoop = spark._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    uri, conf = hadoop.Path("file:///").toUri(), spark._jsc.hadoopConfiguration()
    used = hadoop.FileSystem.get(uri, conf).getClass().getName()
    assert used == ("tests.LocalFiles" if local_files.jars() else HADOOP["FileSystem"])
    files = hadoop.FileContext.getFileContext(uri, conf).getDefaultFileSystem().getClass().getName()
    assert files == ("tests.LocalFiles$Context" if local_files.jars() else HADOOP["FileContext"])
