"""Addresses: their canonical spelling, and whether they may be fetched.

Nothing here resolves a name or opens a connection.
"""

import ipaddress
import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

MAX_URL_CHARACTERS = 2_000

_TRACKING = re.compile(
    r"^(utm_.*|fbclid|gclid|gclsrc|dclid|gbraid|wbraid|msclkid|yclid|twclid|ttclid|igshid|igsh"
    r"|mc_cid|mc_eid|mkt_tok|_ga|_gl|_hsenc|_hsmi|oly_anon_id|oly_enc_id|vero_id|wickedid"
    r"|ref_src|ref_url|cmpid|ocid|smid|ftag)$",
    re.IGNORECASE,
)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PATH_SAFE = "%/:@!$&'()*+,;=~-._"
_LOCAL_SUFFIXES = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "arpa")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_NUMERIC_LABEL = re.compile(r"(\d+|0x[0-9a-f]*)", re.IGNORECASE)


class BadUrl(ValueError):
    """Not an http or https address that evidence may have."""


def canonical_url(url: str) -> str:
    """Return the canonical spelling of `url`, the identity of a document.

    Lower-case scheme and host (international names in ASCII), sorted query; no fragment, default
    port, tracking parameter or trailing slash. Idempotent. Raises `BadUrl` for another scheme than
    http and https, a missing host, a user name, and more than 2,000 characters.
    """
    if len(url) > MAX_URL_CHARACTERS:
        raise BadUrl(f"the address has {len(url)} characters, at most {MAX_URL_CHARACTERS} allowed")
    try:
        url.encode()  # a lone surrogate cannot be sent
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise BadUrl(f"{url!r} is not an address: {error}") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise BadUrl(f"{url!r} is not an http or https address")
    if "@" in parts.netloc:
        raise BadUrl(f"{url!r} carries a user name")
    host = _ascii_host(parts.hostname or "", url)
    if port is not None and port != _DEFAULT_PORTS[parts.scheme]:
        host = f"{host}:{port}"
    path = quote(parts.path, safe=_PATH_SAFE).rstrip("/")
    return urlunsplit((parts.scheme, host, path, _sorted_query(parts.query), ""))


def domain_of(url: str) -> str:
    """Return the host of a canonical address without port and leading `www.`."""
    return (urlsplit(url).hostname or "").removeprefix("www.")


def is_public(url: str) -> bool:
    """Return whether the spelling of `url` is that of a page of the public web.

    False for other schemes, private, loopback, link-local and reserved addresses in any notation,
    single-label names and names of local networks. A public name may still resolve to a private
    address; the code that fetches it must check that.
    """
    try:
        host = urlsplit(canonical_url(url)).hostname or ""
    except BadUrl:
        return False
    if ":" in host:
        return _is_global(host)
    labels = host.split(".")
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        return _is_global(host)
    return len(labels) > 1 and labels[-1] not in _LOCAL_SUFFIXES


def _is_global(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # Mapped and translated IPv4 addresses lie outside of 2000::/3, tunnels to them inside.
    if isinstance(address, ipaddress.IPv6Address) and (
        address not in _GLOBAL_UNICAST or address.sixtofour or address.teredo
    ):
        return False
    return address.is_global and not address.is_multicast


def _ascii_host(host: str, url: str) -> str:
    if ":" in host:
        try:
            return f"[{ipaddress.IPv6Address(host)}]"
        except ValueError:
            raise BadUrl(f"{url!r} is not an address: bad host {host!r}") from None
    try:
        name = host.rstrip(".").encode("idna").decode("ascii").lower()
    except UnicodeError:
        name = ""
    if not re.fullmatch(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?", name):
        raise BadUrl(f"{url!r} has no usable host name")
    return name


def _sorted_query(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    return urlencode(sorted(pair for pair in pairs if not _TRACKING.match(pair[0])))
