"""Models over HTTP: by name, with prices, and at a host of your own."""

from counterfoil.models.client import Timeouts
from counterfoil.models.hosts import Host
from counterfoil.models.http import HttpModel
from counterfoil.models.registry import model
from counterfoil.models.retry import Retry

by_name = model("anthropic:some-model")  # the key: ANTHROPIC_API_KEY, read when a request is made
by_address = model("http://127.0.0.1:8000/v1#some-model")  # any server that speaks OpenAI Chat Completions
elsewhere = model("ollama+http://10.0.0.5:11434#some-model")  # a known host at another address

with_prices = HttpModel(
    "openai-responses",
    "some-model",
    prices={"input": 2.0, "output": 8.0, "cached": 0.5},  # per million tokens, in your currency
    timeouts=Timeouts(connect=5, read=120, total=600),
    retry=Retry(attempts=3, patience=30),
    fields={"reasoning": {"effort": "low"}},  # the wire's own fields, sent with every request
)

gateway = Host(
    name="gateway",
    title="our gateway",
    wire="openai-chat",
    base="https://models.internal.example/v1",
    path="/chat/completions",
    key_variables=("GATEWAY_KEY",),
    stream_fields={"stream_options": {"include_usage": True}},
)
own = HttpModel(gateway, "some-model", headers={"x-team": "orders"})

for each in (by_name, by_address, elsewhere, with_prices, own):
    print(each.name)
