"""Formulas without scripts: MathML in place of the TeX of notebooks, indices in the plain text of the theory."""

import html
import re

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

APART = re.compile(r"(<(pre|code|script|style|svg|table)\b.*?</\2>)", re.DOTALL)
"""Parts of a notebook without formulas."""
TEX = re.compile(r"\$\$(.+?)\$\$|\$(?!\s)([^$]+?)\$", re.DOTALL)
MATHJAX = re.compile(r"<!-- Load mathjax -->.*?<!-- End of mathjax configuration -->", re.DOTALL)
"""Scripts from a network that a notebook asks for."""

GREEK = {
    "theta": "θ", "lambda": "λ", "gamma": "γ", "kappa": "κ", "delta": "δ", "chi": "χ", "pi": "π", "eps": "ε",
}  # fmt: skip
TYPED = [
    (rf"(?<![A-Za-z])({'|'.join(GREEK)})(?![a-z])", lambda found: GREEK[found[1]]),
    (r"\bx_b\^\(χ\)", "x̂<sub>b</sub>(χ)"),
    (r"(?<!\w)sum_(\w)", r"∑<sub>\1</sub>"),
    (r"\^\(([^()]*)\)", r"<sup>\1</sup>"),
    (r"\^T(?!\w)", "<sup>⊤</sup>"),
    (r"\^-(\w+)", r"<sup>−\1</sup>"),
    (r"\^(\+|\w+)", r"<sup>\1</sup>"),
    (r"(?<=[\w'])_(\w+)", r"<sub>\1</sub>"),
    (r"&gt;=", "≥"),
    (r"&lt;=", "≤"),
    (r"\|\|", "‖"),
    (r"(?<=[(.\w]) x (?=\.\.\.|Z)|(?<=\((?:p|n|m)) x (?=n|m)", " × "),
    (r"(?<=\s)- |(?<=\s)-(?=\w<)", "− "),
]
"""Patterns of typed mathematics, in the order in which they are replaced."""
BLOCK = re.compile(r'<div class="highlight"><pre><span></span><code>(.*?)</code></pre></div>', re.DOTALL)


def mathml(found: re.Match[str]) -> str:
    """Return the MathML of a formula in TeX."""
    display, inline = found.groups()
    return convert(html.unescape(display or inline).strip(), display="block" if display else "inline")


def notebook(content: str) -> str:
    """Return the content of a notebook with MathML in place of TeX."""
    parts = re.split(APART, MATHJAX.sub("", content))
    return "".join(
        TEX.sub(mathml, part) if k % 3 == 0 else part for k, part in enumerate(parts) if k % 3 != 2
    )


def typeset(text: str) -> str:
    """Return typed mathematics, escaped for HTML, with its letters, signs and indices."""
    for pattern, put in TYPED:
        text = re.sub(pattern, put, text)
    return text


def theory(content: str) -> str:
    """Return the theory with its mathematics set, code left alone, and displayed formulas as such."""
    content = BLOCK.sub(r'<p class="formula">\1</p>', content)
    parts = re.split(r"(<code>.*?</code>|<[^>]+>)", content, flags=re.DOTALL)
    return "".join(part if k % 2 else typeset(part) for k, part in enumerate(parts))


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set the formulas of a page."""
    if page.file.src_uri.endswith(".ipynb"):
        return notebook(content)
    return theory(content) if page.file.src_uri == "theory.md" else content
