"""Prices, extras that are missing, certificates, and the blocking door."""

from __future__ import annotations

import datetime
import importlib
import ipaddress
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from http_kit import ADA, CALLS, Desk, FakeClock, model_at, run_at
from provider_kit import Asked, Out, Provider, say

from counterfoil import ModelError, Request, Usage, sync
from counterfoil.models.hosts import HOSTS
from counterfoil.models.http import HttpModel
from counterfoil.models.prices import Prices, prices_of, with_cost
from counterfoil.types.entry import Said
from counterfoil.types.message import user

ASK = Request((user("please"),))


def test_prices() -> None:
    usage = Usage(input_tokens=1000, output_tokens=100, cached_tokens=400, cache_write_tokens=100)
    assert Prices(2.0, 8.0).cost(usage) == pytest.approx((1000 * 2 + 100 * 8) / 1e6)
    assert Prices(2.0, 8.0, 0.2, 2.5).cost(usage) == pytest.approx((500 * 2 + 400 * 0.2 + 100 * 2.5 + 100 * 8) / 1e6)
    assert Prices(input=2.0).cost(usage) is None, "what was counted has no price"
    assert Prices(input=2.0).cost(Usage(input_tokens=5)) == pytest.approx(1e-5)
    assert Prices(0.0, 0.0).cost(usage) == 0.0
    assert prices_of({"input": 1, "output": 2}) == Prices(1, 2)
    with pytest.raises(ValueError, match="prices have no 'inputs': they are input, output"):
        prices_of({"inputs": 1})
    with pytest.raises(ValueError, match="the price of input"):
        prices_of({"input": float("nan")})


def test_a_host_that_says_what_a_reply_cost() -> None:
    usage = Usage(5, 3, ext={"openai-chat": {"cost": 0.25}})
    assert HOSTS["openrouter"].cost_field == "cost"
    assert with_cost(usage, None, "cost", "openai-chat") == Usage(5, 3, cost=0.25, ext=usage.ext)
    counted = with_cost(usage, Prices(1.0, 1.0), "cost", "openai-chat")
    assert counted is not None
    assert counted.cost == pytest.approx(8e-6)
    assert with_cost(usage, None, None, "openai-chat") is usage
    assert with_cost(None, Prices(1.0), None, "openai-chat") is None


def _without(module: str, code: str) -> str:
    """What a fresh Python says that lacks a module."""
    text = f"import sys; sys.modules[{module!r}] = None\n{code}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=50, check=False)
    return done.stdout + done.stderr


def test_without_the_extra_there_is_one_sentence() -> None:
    line = 'MissingExtra: A model over HTTP needs an extra that is not installed. Run: pip install "counterfoil[http]"'
    assert line in _without("httpx2", "import counterfoil.models.http")
    assert line in _without("httpx2", "import counterfoil.models.registry as r; r.model('anthropic:x')")
    sign = "from counterfoil.models.sigv4 import Signer; Signer('x').sign('https://x', {}, b'')"
    assert 'pip install "counterfoil[bedrock]"' in _without("botocore", sign)


def test_the_core_does_not_import_the_client() -> None:
    code = "import counterfoil, counterfoil.models.registry, counterfoil.models.hosts"
    assert _without("httpx2", f"{code}\nprint('fine')") == "fine\n"


def test_the_blocking_door() -> None:
    with Provider("anthropic", [say(CALLS), say("done")]) as provider:
        # The loop behind the door ends with it, so no connection is kept.
        model = HttpModel("anthropic", "m", base=provider.base, key="k", headers={"connection": "close"})
        with sync.Harness(model, Desk().catalogue) as harness:
            run = harness.run("please", ADA)
        assert run.text == "done"


@pytest.mark.anyio
async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    certificate = _certificate(tmp_path)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    clock = FakeClock()
    with Provider("anthropic", [say("done")], tls=server) as provider:
        async with model_at(provider, clock=clock) as model:
            with pytest.raises(ModelError, match=r"(?i)certificate"):
                await model.reply(ASK)
        assert clock.slept == [], "it will not be trusted in a second, either"
        assert provider.asked == []
        async with model_at(provider, tls=ssl.create_default_context(cafile=str(certificate))) as model:
            assert (await model.reply(ASK)).message.text == "done"


def _certificate(folder: Path) -> Path:
    """A certificate for this machine that only vouches for itself, with its key."""
    x509: Any = importlib.import_module("cryptography.x509")
    ec: Any = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ec")
    hashes: Any = importlib.import_module("cryptography.hazmat.primitives.hashes")
    form: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    written = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    path = folder / "certificate.pem"
    path.write_bytes(written + made.public_bytes(form.Encoding.PEM))
    return path


@pytest.mark.anyio
async def test_what_a_format_cannot_say_is_there_to_read() -> None:
    with Provider("anthropic", [say("done")]) as provider:
        async with model_at(provider) as model:
            await model.reply(ASK)
            assert [loss.path for loss in model.losses] == ["/sampling/max_tokens"]


@pytest.mark.anyio
async def test_requests_of_many_tasks_share_a_model() -> None:
    at_once = threading.Barrier(4)

    def together(asked: Asked, out: Out) -> None:
        at_once.wait(5)
        say("done")(asked, out)

    with Provider("openai-chat", [together] * 4) as provider:
        async with model_at(provider) as model, anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(model.reply, ASK)
    assert len(provider.asked) == 4


@pytest.mark.anyio
async def test_every_reply_is_journalled_with_its_usage() -> None:
    run, _ = await run_at("gemini", [say(CALLS), say("done")], prices={"input": 1.0, "output": 1.0})
    said = [entry for entry in run.entries if isinstance(entry, Said) and entry.message.role == "assistant"]
    assert [entry.usage.cost for entry in said if entry.usage] == [pytest.approx(19e-6)] * 2


@pytest.mark.anyio
async def test_a_proxy_is_used_where_one_is_given() -> None:
    with Provider("anthropic", [say("done")]) as proxy:
        async with model_at(proxy, base="http://192.0.2.1/v1", proxy=proxy.root) as model:
            assert (await model.reply(ASK)).message.text == "done"
    assert proxy.asked[0].path == "http://192.0.2.1/v1/messages"
