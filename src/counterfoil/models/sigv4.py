"""AWS Signature Version 4, by botocore (the extra `bedrock`): it knows every place where credentials may be."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from counterfoil.types.error import MissingExtra, ModelError

SERVICE = "bedrock"


class Signer:
    """Signs requests with the credentials that botocore finds: environment, files, roles. Blocking."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._credentials: Any = None

    def sign(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[dict[str, str], tuple[str, ...]]:
        """The headers of a signed POST, and the secrets in them. Raises `MissingExtra`, `ModelError`."""
        try:
            auth, requests = import_module("botocore.auth"), import_module("botocore.awsrequest")
            session = import_module("botocore.session")
        except ImportError:
            raise MissingExtra("Signing requests to Amazon Bedrock", "bedrock") from None
        if self._credentials is None:
            # Found once: they renew themselves when they are frozen.
            self._credentials = session.Session().get_credentials()
        if self._credentials is None:
            raise ModelError(
                "there are no AWS credentials: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, or log in with the AWS command"
            )
        frozen = self._credentials.get_frozen_credentials()
        request = requests.AWSRequest("POST", url, data=body, headers=dict(headers))
        auth.SigV4Auth(frozen, SERVICE, self._region).add_auth(request)
        signed = {str(name): str(value) for name, value in request.headers.items()}
        return signed, (frozen.access_key, frozen.secret_key, frozen.token or "", signed.get("Authorization", ""))
