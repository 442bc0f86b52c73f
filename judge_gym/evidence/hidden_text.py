"""Removes text that readers of a page do not see, before a document is used in any way.

Removed are comments, elements marked hidden, and elements whose inline style hides them, shrinks
them, moves them off the page or prints them in the colour of the background. Style sheets are not
evaluated. All other characters stay as they are, so plain text and markdown with a few tags are
accepted too. An HTML parser would rewrite them (docs/decisions/0023-dates-urls-and-hidden-text.md).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

HIDDEN_SELECTORS = (
    "[hidden]",
    "[aria-hidden='true']",
    "[style*='display:none']",
    "[style*='display: none']",
    "[style*='visibility:hidden']",
    "[style*='visibility: hidden']",
    "[style*='font-size:0']",
    "[style*='font-size: 0']",
    "[style*='opacity:0;']",
    "[style*='opacity: 0;']",
)
"""The same rules as CSS selectors, where CSS has one, for a service that converts pages."""

# Bounded, and never across another "<": a page of a million brackets takes one pass.
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|</(?P<end>[a-zA-Z][a-zA-Z0-9-]{0,30})[^<>]{0,100}>"
    r"|<(?P<start>[a-zA-Z][a-zA-Z0-9-]{0,30})"
    r"(?P<attributes_text>(?:\"[^\"<]{0,4000}\"|'[^'<]{0,4000}'|[^<>\"'])*)>",
    re.DOTALL,
)
# Markdown does not print a link definition, so it can serve as a comment.
_MARKDOWN_COMMENT = re.compile(
    r"^ {0,3}\[[^\]\n]{1,80}\]: *(?:#|<>|//)[ \t]*[\"'(][^\n]*\n?", re.MULTILINE
)
_ATTRIBUTE = re.compile(
    r"([a-zA-Z-]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?", re.DOTALL
)
_UNSEEN_ELEMENTS = frozenset({"script", "style", "template"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
_DEEPEST = 256
_ENDS_AT_ITS_LIKE = frozenset({"p", "li", "td", "th", "tr", "dt", "dd", "option"})
_HIDING_STYLE = re.compile(
    r"display:none|visibility:(hidden|collapse)|content-visibility:hidden"
    r"|opacity:0*(\.0\d*)?%?(;|!|$)|(^|;)color:transparent"
    r"|font-size:(0*(\.0*)?|[012]?(\.\d+)?(px|pt)|0*\.[012]\d*(em|rem)|\d(\.\d+)?%)(;|!|$)"
    r"|text-indent:-\d{3,}|(^|;)(left|top|right|bottom):-\d{3,}"
    r"|clip:rect\(0|clip-path:(inset\((50|100)%|circle\(0)|transform:scale\(0"
    r"|(^|;)(max-)?(height|width):0(px)?(;|!|$)"
)
_COLOUR = re.compile(r"(?:^|;)color:([^;!]+)")
_GROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
_NAMED = {"white": "#ffffff", "black": "#000000"}
_RGB = re.compile(r"rgba?\((\d{1,3}),(\d{1,3}),(\d{1,3})(?:,1(?:\.0+)?)?\)")


@dataclass(frozen=True, slots=True)
class _Element:
    name: str
    hidden: bool
    colour: str
    ground: str


def without_hidden_text(text: str) -> str:
    """Return `text` without its hidden parts."""
    if "<" in text:
        text = "".join(_seen_parts(text))
    return _MARKDOWN_COMMENT.sub("", text) if "]:" in text else text


def _seen_parts(text: str) -> Iterator[str]:
    """Yield the parts outside hidden elements, with their tags."""
    above: list[_Element] = []
    kept_to = 0
    for match in _MARKUP.finditer(text):
        was_hidden = bool(above) and above[-1].hidden
        if match["start"]:
            _open(above, match["start"].lower(), match["attributes_text"])
        elif match["end"]:
            _close(above, match["end"].lower())
        is_hidden = bool(above) and above[-1].hidden
        void = match["start"] is not None and match["start"].lower() in _VOID
        comment = match["start"] is None and match["end"] is None
        if was_hidden and not is_hidden:
            # Drop the end tag of a hidden element; keep a tag of an outer element that closes it.
            kept_to = match.end() if match["end"] else match.start()
        elif not was_hidden and (
            is_hidden or comment or (void and _hides(match["attributes_text"]))
        ):
            yield text[kept_to : match.start()]
            kept_to = match.end()
    if not (above and above[-1].hidden):
        yield text[kept_to:]


def _open(above: list[_Element], name: str, attributes_text: str) -> None:
    if name in _ENDS_AT_ITS_LIKE and above and above[-1].name == name:
        above.pop()
    if name in _VOID or len(above) == _DEEPEST:
        return
    outer = above[-1] if above else _Element("", False, "", "")
    style = _style(attributes_text)
    colour = _last(_COLOUR, style) or outer.colour
    ground = _last(_GROUND, style) or outer.ground
    hidden = (
        outer.hidden
        or name in _UNSEEN_ELEMENTS
        or _hides(attributes_text)
        or (colour != "" and colour == ground)
    )
    above.append(_Element(name, hidden, colour, ground))


def _close(above: list[_Element], name: str) -> None:
    """Close the innermost open element of this name, and all elements inside it."""
    for index in range(len(above) - 1, -1, -1):
        if above[index].name == name:
            del above[index:]
            return


def _hides(attributes_text: str) -> bool:
    attributes = _attributes(attributes_text)
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or attributes.get("type", "").strip().lower() == "hidden"
        or bool(_HIDING_STYLE.search(_plain_style(attributes.get("style", ""))))
    )


def _attributes(attributes_text: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(attributes_text):
        attributes.setdefault(match[1].lower(), next((v for v in match.groups()[1:] if v), ""))
    return attributes


def _style(attributes_text: str) -> str:
    return _plain_style(_attributes(attributes_text).get("style", ""))


def _plain_style(style: str) -> str:
    return re.sub(r"\s+|/\*.*?\*/", "", style.lower())


def _last(pattern: re.Pattern[str], style: str) -> str:
    """Return the colour of the last matching rule in canonical spelling; "" without one."""
    colours = pattern.findall(style)
    if not colours:
        return ""
    colour = _NAMED.get(colours[-1], colours[-1])
    if rgb := _RGB.fullmatch(colour):
        return "#" + "".join(f"{int(part):02x}" for part in rgb.groups())
    if re.fullmatch(r"#[0-9a-f]{3}", colour):
        return "#" + "".join(digit * 2 for digit in colour[1:])
    return str(colour)
