"""Whether gcsfs and adlfs found credentials. Both know it before the first request to the store, and neither
says so in its errors."""

from __future__ import annotations

import logging
from typing import Any

from core.storage.store import NoCloudCredentials

GOOGLE = "gs"
AZURE = "abfs"
ANONYMOUS_SECONDS = 10.0
"""How long a listing by Google without credentials may take. A public bucket answers at once; without a
network gcsfs would repeat the request for a minute."""

_SCOPE = "https://storage.azure.com/.default"  # what a token of Azure's storage is asked for
_LOGGERS = ("gcsfs", "google.auth", "azure.identity", "azure.core")


def silence_log(protocol: str) -> None:
    """What the drivers log of credentials that they try is said in one sentence here. It goes nowhere, unless
    whoever runs this has set up logging; Python alone would print it."""
    if protocol not in (GOOGLE, AZURE):
        return
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, logging.NullHandler) for each in logger.handlers):
            logger.addHandler(logging.NullHandler())


def demand_credentials(fs: Any, protocol: str) -> None:
    """Raises :class:`NoCloudCredentials` when adlfs looked for credentials and none of them gives a token.
    Where a key, a signature or a connection string was given, it looks for none."""
    credential = getattr(fs, "sync_credential", None)
    if protocol != AZURE or credential is None:
        return
    try:
        credential.get_token(_SCOPE)
    except Exception as error:
        if type(error).__name__ not in ("ClientAuthenticationError", "CredentialUnavailableError"):
            raise
        raise NoCloudCredentials(AZURE) from error


def is_nobody(fs: Any, protocol: str) -> bool:
    """Whether gcsfs found no credentials and asks without any, which nobody told it to."""
    credentials = getattr(fs, "credentials", None)
    return (
        protocol == GOOGLE
        and getattr(credentials, "method", None) == "anon"
        and getattr(credentials, "token", None) is None
    )
