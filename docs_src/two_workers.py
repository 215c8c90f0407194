"""Two workers share a journal; one is killed in the middle of a payment, and nothing is paid twice."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from subprocess import PIPE, Popen

from payments import harness

from counterfoil import Session, sync
from counterfoil.journal.opening import open_journal

DESK = f"{Path(__file__).resolve().with_name('payments.py')}:harness"


def worker(journal: str) -> Popen[str]:
    command = [sys.executable, "-m", "counterfoil", "worker", DESK, "--journal", journal, "--json"]
    return Popen(command, stdout=PIPE, text=True)


def told(process: Popen[str]) -> str:
    said = json.loads(process.stdout.readline())
    return said.get("outcome") or said.get("what") or said["worker"]


def main(where: str) -> None:
    bank = Path("bank.txt")
    ada = Session(requester="ada", permissions={"payments:send"})
    # A web server, say: it asks and answers, and leaves the work to others.
    with sync.Harness(harness.model, harness.catalogue, journal=open_journal(where)) as front:
        Path("slow").touch()
        with worker(where) as one:
            print("one worker:", told(one))
            run_id = front.submit("I-7", ada)
            print("one worker:", told(one))
            while not bank.exists():
                time.sleep(0.01)
            one.kill()
        print("it is killed; the bank has paid", bank.read_text().split())

        with worker(where) as other:
            print("the other:", told(other), told(other), told(other))
            (doubt,) = front.doubts(run_id)
            print("in doubt:", doubt.call.name, doubt.call.arguments)
            front.settle(run_id, doubt.call.id, "happened", by="bob", result="The bank shows the payment.")
            print("the other:", told(other), told(other))
            other.terminate()
        print("the bank has paid", bank.read_text().split(), "|", front.read(run_id).text)
        print("told to stop, the other has ended with", other.returncode)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main(sys.argv[1] if sys.argv[1:] else "runs.db")  # or postgresql://...
    os.chdir("/")
