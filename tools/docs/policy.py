"""A content security policy in every page of the built documentation: nothing from elsewhere, no code but what is named by its hash."""

import base64
import hashlib
import re

SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)
STYLE = re.compile(r"<style>(.*?)</style>", re.S)


def source_of(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(html):
    scripts = " ".join(dict.fromkeys(map(source_of, SCRIPT.findall(html))))
    styles = " ".join(dict.fromkeys(map(source_of, STYLE.findall(html))))
    return (
        f"default-src 'self'; script-src 'self' 'wasm-unsafe-eval' {scripts}; style-src 'self' {styles}; img-src 'self' data:; "
        "base-uri 'none'; form-action 'self'; object-src 'none'")


def enforce(folder):
    for page in sorted(folder.rglob("*.html")):
        html = page.read_text("utf-8")
        # The theme's drawings have style attributes, which no hash can allow; other attributes say the same.
        html = html.replace(' style="display: none;"', " hidden").replace(' style="opacity: 50%"', ' opacity="0.5"')
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(html)}">'
        page.write_text(re.sub(r"(<head>.*?<meta charset=\"utf-8\" ?/?>)", lambda m: m[1] + meta, html, count=1, flags=re.S), "utf-8")
