"""Addresses: one spelling each, and which look fetchable."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.evidence.urls import BadUrl, canonical_url, domain_of, is_public


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("https://Example.ORG/a", "https://example.org/a"),
        ("HTTPS://example.org/A", "https://example.org/A"),
        ("https://example.org", "https://example.org"),
        ("https://example.org/", "https://example.org"),
        ("https://example.org/a/", "https://example.org/a"),
        ("https://example.org./a", "https://example.org/a"),
        ("https://example.org/a#part-2", "https://example.org/a"),
        ("https://example.org:443/a", "https://example.org/a"),
        ("http://example.org:80/a", "http://example.org/a"),
        ("http://example.org:443/a", "http://example.org:443/a"),
        ("https://example.org:8443/a", "https://example.org:8443/a"),
        ("https://example.org/a?b=2&a=1", "https://example.org/a?a=1&b=2"),
        ("https://example.org/a?utm_source=x&id=7&fbclid=y&GCLID=z", "https://example.org/a?id=7"),
        ("https://example.org/a?utm_campaign=x", "https://example.org/a"),
        ("https://example.org/a?id=", "https://example.org/a?id="),
        ("https://example.org/a b", "https://example.org/a%20b"),
        ("https://example.org/a%20b", "https://example.org/a%20b"),
        ("https://example.org/größe", "https://example.org/gr%C3%B6%C3%9Fe"),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
        ("  https://example.org/a\n", "https://example.org/a"),
        ("https://en.example.org//wiki/A,_b", "https://en.example.org//wiki/A,_b"),
        ("http://[2001:4860:4860:0:0:0:0:8888]/", "http://[2001:4860:4860::8888]"),
    ],
)
def test_each_address_has_one_spelling(written, canonical):
    assert canonical_url(written) == canonical
    assert canonical_url(canonical) == canonical


@pytest.mark.parametrize(
    "written",
    [
        "",
        "example.org/a",
        "/a/b",
        "ftp://example.org/a",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,hello",
        "https://",
        "https:///a",
        "https://user@example.org/a",
        "https://user:word@example.org/a",
        "https://good.example\\@evil.example/",
        "https://exa mple.org/",
        "https://example.org:99999/",
        "https://example.org:x/",
        "https://[::1/",
        "https://a..b/",
        "https://example.org/\ud800",
        "https://example.org/" + "a" * 2_000,
    ],
)
def test_what_is_no_plain_web_address_is_refused(written):
    with pytest.raises(BadUrl):
        canonical_url(written)


@settings(max_examples=200)
@given(st.text(max_size=60), st.text(max_size=60))
def test_canonical_form_is_a_fixed_point(path, query):
    try:
        once = canonical_url(f"https://example.org/{path}?{query}")
    except BadUrl:
        return
    assert canonical_url(once) == once


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://www.example.org/a", "example.org"),
        ("https://news.example.org:8443/a", "news.example.org"),
        ("", ""),
    ],
)
def test_domain_is_the_host_without_www(url, domain):
    assert domain_of(url) == domain


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a",
        "http://news.example.co.uk",
        "https://8.8.8.8/",
        "https://10.org/",
        "https://[2001:4860:4860::8888]/",
    ],
)
def test_public_pages(url):
    assert is_public(url)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/",
        "http://localhost/",
        "http://LOCALHOST:8000/",
        "http://api.localhost/",
        "http://printer.local/",
        "http://vault.internal/",
        "http://intranet/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",  # 127.0.0.1 as one number
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://0.0.0.0/",
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://224.0.0.1/",
        "http://[::1]/",
        "http://[fe80::1]/",
        "http://[fd00::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",  # 127.0.0.1 by translation
        "http://[2002:7f00:1::]/",  # by a 6to4 tunnel
        "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",  # by a Teredo tunnel
        "http://①②⑦.0.0.1/",
        "http://%31%32%37.0.0.1/",
        "http://example.org%2f@127.0.0.1/",
        "http://public.example\\@10.0.0.1/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://localhost./",
        "gopher://example.org/",
        "jar:http://example.org!/",
        "view-source:http://example.org/",
        "//example.org/",
        "http://１２７.0.0.1/",  # full-width digits fold to 127.0.0.1
        "http://127。0。0。1/",
        "https://user@example.org/",
        "not a url",
    ],
)
def test_what_is_not_a_page_of_the_public_web(url):
    assert not is_public(url)
