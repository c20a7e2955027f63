# SPDX-License-Identifier: Apache-2.0
"""Servers of Debian under load, for tests that attach to them: each client
checks every answer, and the first wrong one is kept."""

import contextlib
import os
import socket
import subprocess
import threading
import time

from harness import end, run, running, text


class Load:
    """Clients that work until they are stopped.  @client(number) gives a
    function that does one round and raises if the answer is wrong."""

    def __init__(self, client, count):
        self.errors = []
        self.rounds = [0] * count
        self.stopping = threading.Event()
        self.threads = [
            threading.Thread(target=self._work, args=(client, i), daemon=True)
            for i in range(count)]

    def _work(self, client, number):
        try:
            with client(number) as one_round:
                while not self.stopping.is_set():
                    one_round()
                    self.rounds[number] += 1
        except Exception as error:  # whatever it is, the test has to tell it
            self.errors.append("client %d, round %d: %r" % (
                number, self.rounds[number], error))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join(30)
            if thread.is_alive():
                self.errors.append("a client hangs")


def wait_for(what, seconds, condition):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("%s: not within %d s" % (what, seconds))
        time.sleep(0.05)


# Redis

def redis_answer(connection, *words):
    """Send one command and return the answer's bytes, of one value."""
    data = b"*%d\r\n" % len(words)
    for word in words:
        data += b"$%d\r\n%s\r\n" % (len(word), word)
    connection.sendall(data)
    answer = connection.makefile("rb")
    line = answer.readline()
    if line[:1] != b"$":
        return line.rstrip()
    size = int(line[1:])
    return answer.read(size + 2)[:-2] if size >= 0 else None


@contextlib.contextmanager
def redis_connection(path):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(path)
        yield connection


@contextlib.contextmanager
def redis_client(path, number):
    with redis_connection(path) as connection:
        turn = 0

        def one_round():
            nonlocal turn
            turn += 1
            key = b"key:%d:%d" % (number, turn % 100)
            value = b"value %d " % turn * (1 + turn % 50)
            assert redis_answer(connection, b"SET", key, value) == b"+OK"
            got = redis_answer(connection, b"GET", key)
            assert got == value, (got, value)
            got = redis_answer(connection, b"INCR", b"count:%d" % number)
            assert got == b":%d" % turn, (got, turn)

        yield one_round


@contextlib.contextmanager
def redis(directory):
    """A redis-server: the process and its socket."""
    path = os.path.join(directory, "redis.sock")
    with running(["redis-server", "--port", "0", "--unixsocket", path,
                  "--save", "", "--appendonly", "no", "--dir", directory],
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL) as process:
        wait_for("redis-server", 20, lambda: os.path.exists(path))
        yield process, path


# MariaDB

@contextlib.contextmanager
def mariadb_client(path, number):
    """One mariadb command that answers line by line."""
    process = subprocess.Popen(
        ["mariadb", "--no-defaults", "--socket", path, "--batch", "--quick",
         "--skip-column-names", "--unbuffered", "test"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True)
    turn = 0

    def ask(statement):
        process.stdin.write(statement.encode() + b";\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise AssertionError(text(process.stderr.read()))
        return answer.decode().strip()

    def one_round():
        nonlocal turn
        turn += 1
        got = ask("INSERT INTO numbers VALUES (%d, %d, REPEAT('x', %d));"
                  "SELECT COUNT(*), SUM(value) FROM numbers WHERE client = %d"
                  % (number, turn, turn % 200, number))
        assert got == "%d\t%d" % (turn, turn * (turn + 1) // 2), got

    try:
        yield one_round
    finally:
        end(process)


@contextlib.contextmanager
def mariadb(directory):
    """A mariadbd with an empty table: the process and its socket."""
    data = os.path.join(directory, "data")
    path = os.path.join(directory, "maria.sock")
    user = ["--user=root"] if os.geteuid() == 0 else []
    made = run(["mariadb-install-db", "--no-defaults", "--datadir=" + data,
                "--auth-root-authentication-method=normal", *user])
    if made.status != 0:
        raise AssertionError(text(made.err))
    with running(["mariadbd", "--no-defaults", "--datadir=" + data,
                  "--socket=" + path, "--skip-networking",
                  "--skip-grant-tables", "--innodb-buffer-pool-size=16M",
                  "--innodb-flush-log-at-trx-commit=0",
                  "--pid-file=" + os.path.join(directory, "pid"), *user],
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL) as process:
        create = ["mariadb", "--no-defaults", "--socket", path, "-e",
                  "CREATE DATABASE IF NOT EXISTS test; CREATE TABLE "
                  "test.numbers (client INT, value INT, text VARCHAR(200), "
                  "INDEX (client)) ENGINE=InnoDB"]
        wait_for("mariadbd", 60, lambda: os.path.exists(path))
        wait_for("mariadbd's table", 30, lambda: run(create).status == 0)
        yield process, path
