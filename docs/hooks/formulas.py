"""Formulas without scripts: MathML in place of the TeX of notebooks, indices and powers in plain text."""

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
RELATION = re.compile("<mi>(&#x0(?:2AAF|2AB0|27F9);)</mi>")
"""A relation, ⪯ or ⪰ or ⟹, that the converter takes for a letter."""

GREEK = {
    "theta": "θ", "lambda": "λ", "beta": "β", "gamma": "γ", "mu": "μ", "kappa": "κ", "delta": "δ", "chi": "χ",
    "pi": "π", "eps": "ε", "epsilon": "ε", "alpha": "α", "rho": "ρ", "zeta": "ζ", "tau": "τ", "nu": "ν", "Phi": "Φ",
    "perp": "⊥",
}  # fmt: skip
TYPED = [
    (rf"(?<![A-Za-z])({'|'.join(GREEK)})(?![a-z])", lambda found: GREEK[found[1]]),
    (r"\bx_b\^\(χ\)", "x̂<sub>b</sub>(χ)"),
    (r"(?<!\w)x_hat", "x̂"),
    (r"(?<=/d)theta(?!\w)", "θ"),
    (r"(?<!\w)sqrt\((\w+)\)", r"√\1"),
    (r"(?<!\w)sum_(\w)", r"∑<sub>\1</sub>"),
    (r"(?<!\w)sum(?= [θμ])", "∑"),
    (r"(?<!\w)(sum|\w)_\(([^()]*)\)", lambda found: f"{found[1]}<sub>{found[2].replace('-', '−')}</sub>"),
    (r"(?<!\w)sum(?=<sub>)", "∑"),
    (r"\^\(([^()]*)\)", r"<sup>\1</sup>"),
    (r"\^T(?!\w)", "<sup>⊤</sup>"),
    (r"\^-(\w+)", r"<sup>−\1</sup>"),
    (r"\^(\+|⊥|\w+)", r"<sup>\1</sup>"),
    (r"(?<=[\w')\]\u0302])_(\+|\w+)", r"<sub>\1</sub>"),
    (r"-&gt;", "→"),
    (r"&gt;=", "≥"),
    (r"&lt;=", "≤"),
    (r"\|\|", "‖"),
    (r"(?<=[(.\w>]) x (?=\.\.\.|Z)|(?<=\((?:p|n|m)) x (?=n|m)", " × "),
    (r"(?<=\s)- |(?<=\s)-(?=\w<)", "− "),
    (r"(?<=\()-(?=\w)|(?<=<sup>)-", "−"),
]
"""Patterns of typed mathematics, in the order in which they are replaced."""
POWERS = [
    (r"(?<=\w)\^epsilon(?!\w)", "^ε"),
    (r"(?<=\w)\^[-−](\w+)", r"<sup>−\1</sup>"),
    (r"(?<=\w)\^(\w+)", r"<sup>\1</sup>"),
    (r"(?<=</sup>) - (?=\w)", " − "),
]
"""The same for pages in sentences, where only powers are mathematics."""
BLOCK = re.compile(r'<div class="highlight"><pre><span></span><code>(.*?)</code></pre></div>', re.DOTALL)


def mathml(found: re.Match[str]) -> str:
    """Return the MathML of a formula in TeX."""
    display, inline = found.groups()
    made = convert(html.unescape(display or inline).strip(), display="block" if display else "inline")
    return RELATION.sub(r"<mo>\1</mo>", made)


def notebook(content: str) -> str:
    """Return the content of a notebook with MathML in place of TeX."""
    parts = re.split(APART, MATHJAX.sub("", content))
    return "".join(
        TEX.sub(mathml, part) if k % 3 == 0 else part for k, part in enumerate(parts) if k % 3 != 2
    )


def typeset(content: str, patterns: list) -> str:
    """Return a page with its typed mathematics set by patterns, tags and code left alone."""
    parts = re.split(r"(<code>.*?</code>|<[^>]+>)", content, flags=re.DOTALL)
    for pattern, put in patterns:
        parts[::2] = [re.sub(pattern, put, part) for part in parts[::2]]
    return "".join(parts)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set the formulas of a page; the reference shows docstrings as they are."""
    name = page.file.src_uri
    if name.endswith(".ipynb"):
        return notebook(content)
    if name == "theory.md":
        return typeset(BLOCK.sub(r'<p class="formula">\1</p>', content), TYPED)
    return content if name.startswith("reference/") else typeset(content, POWERS)
