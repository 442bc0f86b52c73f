"""Which texts are articles: pages and bytes that stand in their place, and copies of others."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.evidence.documents import RawDocument
from judge_gym.evidence.near_duplicates import CONTAINED, NearDuplicates
from judge_gym.evidence.plausibility import fault_of
from judge_gym.evidence.screening import ScreeningLimits, screen

ARTICLE = (
    "The government of Valmora will table a bill on Monday that would give the interior minister "
    "control over the appointment of judges, according to three people who have seen the draft. "
    "The opposition said it would fight the plan in court and in the streets, and called for a "
    "strike on Friday. Judges of the supreme court met on Sunday evening and issued a statement of "
    "two pages, in which they asked the members of the assembly to reject the bill.\n\n"
    "The speaker said that the debate would last four days instead of ten. A first reading is "
    "planned for Wednesday, and the committee on justice has invited six experts. Two of them told "
    "this newspaper that they had not received the text. In the harbour towns, where the governing "
    "party lost two elections last year, mayors prepared letters of protest."
)
CONSENT = {
    "en": "We use cookies to improve this service and to show you personalised content.\n\n"
    "Accept all\n\nReject all\n\nYou can change your cookie settings at any time.\n\n"
    "Privacy policy",
    "of many partners": "We value your privacy\n\nWe and our 1,432 partners store and/or access "
    "information on a device, such as unique identifiers in cookies, to process personal data. You "
    "may manage your choices at any time, including your right to object where legitimate interest "
    "is used by our partners. Use precise geolocation data. Personalised advertising and content, "
    "audience research and services development.\n\nAccept all\n\nManage options",
    "de": "Wir und unsere 842 Partner verwenden Cookies, um Informationen auf Ihrem Gerät zu "
    "speichern. Mit dem Klick auf die Taste geben Sie Ihre Einwilligung.\nAlle akzeptieren\n"
    "Alle ablehnen\nDatenschutzerklärung",
    "fr": "Nous et nos 310 partenaires utilisons des cookies pour mesurer l'audience. Vous pouvez "
    "retirer votre consentement.\nTout accepter\nTout refuser\nPolitique de confidentialité",
    "es": "Utilizamos cookies propias y de terceros.\nAceptar todas las cookies\nRechazar todo\n"
    "Política de cookies",
}
CHECKS = {
    "captcha": "# Are you a robot?\n\nPlease complete the captcha to continue. " * 3,
    "browser": "Just a moment... Checking your browser before accessing news.example. "
    "Enable JavaScript and cookies to continue. Ray ID: 8f2",
    "denied": "Access Denied\n\nYou don't have permission to access this page. Reference #18.2f.1",
    "human": "Verify you are human by completing the action below. The site needs to review the "
    "security of your connection before proceeding.",
    "de": "Bitte bestätigen Sie, dass Sie kein Roboter sind. Sind Sie ein Mensch?",
}
OTHERS = {
    "script": "You need to enable JavaScript to run this app.",
    "old browser": "Your browser is not supported. Please upgrade to a modern browser to go on.",
    "404": "# Page not found\n\nSorry, the page you are looking for could not be found. It may "
    "have been moved or deleted.\n\nGo back to the homepage.\n\n[Home](/) [News](/n) [Sport](/s)",
    "404 de": "Fehler 404\n\nDie Seite wurde nicht gefunden.\n\nZur Startseite",
    "down": "503 Service Unavailable\n\nThe service is temporarily unavailable. Try again later.",
    "login": "Log in to continue reading\n\nEmail address\n\nPassword\n\nForgot your password?\n\n"
    "Don't have an account? Create a free account",
    "subscribe": "Subscribe now\n\nUnlimited access for 1 euro a week. Cancel any time.\n\n"
    "Already a subscriber? Log in",
}


@pytest.mark.parametrize("text", [*CONSENT.values(), *CHECKS.values(), *OTHERS.values()])
@pytest.mark.parametrize("times", [1, 4])
def test_a_page_that_stands_in_place_of_an_article(text, times):
    fault = fault_of("\n\n".join([text] * times))
    assert fault is not None
    assert fault.reason == "not_article"


@pytest.mark.parametrize("text", [*CONSENT.values(), *CHECKS.values(), *OTHERS.values()])
def test_an_article_with_such_a_notice_around_it_is_kept(text):
    first = text.split("\n")[0]
    assert fault_of(f"{first}\n\n{ARTICLE}\n\n{ARTICLE.replace('Valmora', 'Norvania')}") is None


KEPT = {
    "about cookies": "The European Court of Justice ruled on Tuesday that websites may not force "
    "users to accept all cookies. The judges said a banner with a single 'Accept all' button is no "
    "consent. The case was brought by a German consumer group. 'We use cookies on our website, but "
    "only essential ones,' a spokesperson for the publisher said. Lawyers expect that thousands of "
    "sites will have to change their cookie settings. The regulator in Dublin welcomed the "
    "decision, which takes effect in March. Fines of up to four percent of turnover are possible.",
    "about captchas": "Researchers have shown that a language model solves picture captchas more "
    "often than people do. The team asked 1,400 volunteers to prove they are human on twelve "
    "websites, and recorded how long they took. Machines needed less time and made fewer errors.",
    "about paywalls": "The newspaper lost a tenth of its readers after it put up a paywall in May. "
    "Subscribers pay nine crowns a month. The publisher said that it will not go back, since those "
    "who stayed read more articles than before. Other titles of the group follow in autumn.",
    "about an outage": "The tax office's website was down for most of Monday. Visitors saw an "
    "error page, and the ministry extended the deadline by two days. A spokesperson said that a "
    "certificate had expired. The opposition asked for an inquiry into the contract.",
    "figures": "Turnout by district: 1 54.2% 2 61.0% 3 48.9% 4 70.1% 5 66.3% 6 59.9% 7 61.2%",
    "chinese": "政府周一表示，将在下个月提交新的司法改革法案。反对党说，他们会在法庭上反对。" * 3,
    "arabic": "قالت الحكومة يوم الاثنين إنها ستقدم مشروع قانون جديد لإصلاح القضاء في الشهر المقبل. "
    "وقالت المعارضة إنها سترفض الخطة في المحكمة وفي الشارع.",
    "a few controls": ARTICLE.replace("court", "co\0urt") + " \ud83d end",
    "right to left marks": ARTICLE.replace(" the ", " \u202e "),
}


@pytest.mark.parametrize("text", KEPT.values(), ids=list(KEPT))
def test_an_article_is_kept_whatever_it_is_about(text):
    assert fault_of(text) is None


BYTES = {
    "pdf": "%PDF-1.7\n%âãÏÓ\n" + "\x01\x02\x03obj stream x\0y " * 200,
    "pdf without its head": "1 0 obj << /Length 44 >> stream BT endstream endobj 2 0 obj << >> "
    "endobj xref startxref 1234",
    "zip": "PK\x03\x04\x14\0\0word/document.xml" + "q\0\x11" * 99,
    "picture": "\ufeff\x89PNG\r\n\x1a\n" + "IHDR" * 99,
    "replaced": "The \ufffd\ufffd court \ufffd\ufffd\ufffd of \ufffd\ufffd Valmora " * 9,
    "code": "iVBORw0KGgoAAAANSUhEUgAA" * 60,
    "noise": "$%&/()=?!§ {}[]<>#'+*~ a1 " * 40,
}


@pytest.mark.parametrize("text", BYTES.values(), ids=list(BYTES))
def test_bytes_are_no_text(text):
    fault = fault_of(text)
    assert fault is not None
    assert fault.reason == "binary"


@pytest.mark.parametrize(
    "ending",
    [
        "This article is for subscribers only.",
        "Subscribe to continue reading.\n\nAlready a subscriber? Log in",
        "Dieser Artikel ist nur für Abonnenten lesbar.",
        "Cet article est réservé aux abonnés.",
        "You have reached your limit of free articles.",
    ],
)
def test_a_beginning_before_a_paywall_is_no_whole_article(ending):
    stub = f"{ARTICLE[:500]}\n\n{ending}"
    fault = fault_of(stub)
    assert fault is not None
    assert fault.reason == "only_beginning"
    # A whole article with the same offer below it is kept.
    more = " ".join(f"On day {n} the committee heard {n + 6} experts on courts." for n in range(20))
    assert fault_of(f"{ARTICLE}\n\n{more}\n\n{ending}") is None


@given(st.text(max_size=3_000))
@settings(max_examples=100, deadline=None)
def test_any_text_can_be_looked_at(text):
    assert fault_of(text) == fault_of(text)


def copied(text, earlier=ARTICLE):
    seen = NearDuplicates()
    seen.add("first", earlier)
    return seen.copied_by(text)


HEAD = "Norvania Today, Monday edition. By our own staff in the capital. Share this with friends. "
FOOT = " Originally published by the Valmora Courier. More news on politics, sport and weather."


@pytest.mark.parametrize(
    "text", [HEAD + ARTICLE, ARTICLE + FOOT, HEAD + ARTICLE + FOOT, ARTICLE.upper(), ARTICLE[:-200]]
)
def test_a_syndicated_copy_is_known_in_another_frame(text):
    name, share = copied(text)
    assert name == "first"
    assert share >= CONTAINED


def test_the_share_is_that_of_runs_of_five_words():
    """Of 20 words there are 16 runs; one other word in the middle changes five of them."""
    words = [f"w{number}" for number in range(20)]
    changed = [*words[:10], "other", *words[11:]]
    assert copied(" ".join(changed), " ".join(words)) is None  # 11 of 16
    at_the_end = [*words[:17], "other", "words", "here"]
    assert copied(" ".join(at_the_end), " ".join(words)) == ("first", 13 / 16)


def test_other_articles_and_fuller_reports_are_no_copies():
    other = "The assembly of Norvania elected a new speaker on Monday. " + ARTICLE.split(". ")[0]
    assert copied(other + ". " + FOOT * 3) is None
    # A short notice came first; the report that quotes it has three times its words.
    assert copied(f"{FOOT} {HEAD * 4} {ARTICLE}", ARTICLE[:250]) is None
    assert copied("Too short to be compared.", "Too short to be compared.") is None


def test_copies_are_known_in_a_script_without_spaces():
    text = "政府周一表示，将在下个月提交新的司法改革法案。反对党说，他们会在法庭上反对这项计划。"
    assert copied(f"本报讯。{text}", text) is not None


def documents(*texts):
    return [
        RawDocument(f"row {number}", text, f"https://example.org/{number}")
        for number, text in enumerate(texts, start=1)
    ]


def test_pages_of_the_web_are_dropped_and_ones_own_texts_are_marked():
    raw = documents(ARTICLE, HEAD + ARTICLE + FOOT, CONSENT["en"] * 2, BYTES["pdf"])
    found = screen(raw, ScreeningLimits(max_documents=9, doubtful="drop"))
    assert [one.origin for one in found.documents] == ["row 1"]
    assert [(one.reason, one.detail.split(":")[0]) for one in found.dropped] == [
        ("near_duplicate", "row 2"),
        ("not_article", "row 3"),
        ("binary", "row 4"),
    ]
    assert "row 1" in found.dropped[0].detail
    own = screen(raw, ScreeningLimits(max_documents=9, doubtful="flag"))
    assert [one.doubt.partition(",")[0] for one in own.documents] == [
        "",
        "near duplicate",
        "not article",
        "binary",
    ]
    assert screen(raw, ScreeningLimits(max_documents=9)).documents[1].doubt == ""
