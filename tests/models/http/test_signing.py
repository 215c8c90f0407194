"""Requests to Bedrock: signed as AWS checks it, or with a bearer token."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from http_kit import FakeClock
from provider_kit import Provider, say

from counterfoil import ModelError, Request
from counterfoil.models.http import HttpModel
from counterfoil.types.message import user

pytestmark = pytest.mark.anyio

ASK = Request((user("please"),))
MODEL = "arn:aws:bedrock:eu-central-1:1:inference-profile/x"


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))


async def test_the_signature_is_the_one_that_aws_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    auth: Any = importlib.import_module("botocore.auth")
    requests: Any = importlib.import_module("botocore.awsrequest")
    credentials: Any = importlib.import_module("botocore.credentials")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-aws")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-token-of-aws")
    with Provider("bedrock", [say("done"), say("done")]) as provider:
        async with HttpModel("bedrock", MODEL, base=provider.root, clock=FakeClock()) as model:
            assert (await model.reply(ASK)).message.text == "done"
            async for _ in model.stream(ASK):
                pass
    for asked, path in zip(provider.asked, ("converse", "converse-stream"), strict=True):
        assert asked.path == f"/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A1%3Ainference-profile%2Fx/{path}"
        head, signed, signature = asked.headers["authorization"].split(", ")
        assert "/eu-central-1/bedrock/aws4_request" in head
        assert asked.headers["x-amz-security-token"] == "a-token-of-aws"
        names = signed.removeprefix("SignedHeaders=").split(";")
        assert {"host", "x-amz-date", "x-amz-security-token"} <= set(names)
        headers = {name: asked.headers[name] for name in names}
        again = requests.AWSRequest("POST", provider.root + asked.path, data=asked.text, headers=headers)
        again.context["timestamp"] = asked.headers["x-amz-date"]
        frozen = credentials.Credentials("AKIAEXAMPLE", "a-secret-of-aws").get_frozen_credentials()
        signer = auth.SigV4Auth(frozen, "bedrock", "eu-central-1")
        text = signer.string_to_sign(again, signer.canonical_request(again))
        assert signature == f"Signature={signer.signature(text, again)}"


async def test_a_bearer_token_is_used_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "a-bearer")
    with Provider("bedrock", [say("done")]) as provider:
        async with HttpModel("bedrock", MODEL, base=provider.root) as model:
            await model.reply(ASK)
    assert provider.asked[0].headers["authorization"] == "Bearer a-bearer"


async def test_without_credentials_it_says_which_to_set() -> None:
    importlib.import_module("botocore")
    async with HttpModel("bedrock", MODEL, base="http://127.0.0.1:9") as model:
        with pytest.raises(ModelError, match="AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID"):
            await model.reply(ASK)
