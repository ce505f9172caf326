"""book.py - sparsehs.h as a book: HTML pages by section with the comments beside the code; make book. From the project's root:

    python3 tools/book.py [FOLDER]        FOLDER: build/book

A page for each section has its public part and its implementation; others hold the manual, all public functions with their
textbook twins, kernels and lessons, the glossary, and the kernels for devices. Pygments colours the code; all else is here.
tools/book_functions.txt describes each section and each public function in a line: a missing or unknown name ends the program."""
import html
import os
import re
import sys

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CLexer

HEADER = "sparsehs.h"
OUT = sys.argv[1] if len(sys.argv) > 1 else "build/book"
COURSE = "examples/course"

# For the public functions whose names begin so, the first row that fits: twins beside NAME_naive, tags of the kernels of
# processors, files of those for devices, lesson of the course.
RELATED = [line.split("|") for line in """
gemm_general||k_gemm k_packing k_products|gemm.cl|1
gemm|gemm_general|k_gemm k_packing k_products|gemm.cl|1
syrk||k_gemm k_packing k_products|syrk.cl|1
trsm||k_gemm k_products||1
cholesky||k_gemm k_products||1
gem|gemm_general|k_vectors||1
dot ||k_vectors||1
eigh||k_eigen k_eigen_products k_eigen_rotations||4
omp_one|omp nnomp|k_omp||2
omp_gram|omp somp nnomp|k_omp|omp.h omp_general.cl|2
omp|somp nnomp|k_omp|omp.h omp_general.cl|2
codes_round||||2
codes_residual||k_omp|residual.cl|2
codes||||2
compact||||2
lasso||k_vectors||2
ksvd|aksvd sgk exact_ksvd nnaksvd nnksvd mod|k_omp k_vectors|omp.h update.cl residual.cl|3
update|ksvd aksvd sgk exact_ksvd nnaksvd nnksvd mod||update.cl|3
online||k_omp|omp.h omp_general.cl|3
dictionary||||3
patches|omp|k_omp|omp.h omp_general.cl|3
noise_sigma||||3
moments||k_integers k_results|moments.cl totals.cl pixels.cl|4
cube_map||k_results|map.cl|4
cube||||4
pca||k_integers k_results|moments.cl map.cl|4
mnf|noise noise_residual|k_integers k_results|moments.cl map.cl|4
rx||k_results|moments.cl map.cl|4
ica||k_contrasts|fourth.cl sweep.cl map.cl|5
contrast|ica|k_contrasts|sweep.cl|5
detect||k_results|map.cl|
unmix||k_results||
endmembers|vca nfindr atgp|||
extractor|vca nfindr atgp|||
engine||||6
arena||||6
random||||6
""".strip().split("\n")]


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


# ---- the text: rows of a comment and the code beside it -----------------------------------------------------------------

class Row:
    def __init__(self, line, comment):
        self.line, self.comment, self.code = line, comment, []


def rows_of(lines, first, last):
    """Lines first .. last-1 (from 0). A comment that has its lines to itself begins a row, wherever it stands."""
    rows, i = [], first
    while i < last:
        stripped = lines[i].strip()
        if stripped.startswith("/*") and not lines[i].endswith("\\"):
            end = i
            while end < last and "*/" not in lines[end]:
                end += 1
            if end < last and lines[end].rstrip().endswith("*/"):
                rows.append(Row(i, lines[i:end + 1]))
                i = end + 1
                continue
        if not rows:
            rows.append(Row(i, []))
        rows[-1].code.append(i)
        i += 1
    return rows


RULE = re.compile(r"^/\* [-=#]{8,}")
HEADING = re.compile(r"^/\* -{4} (.*?) -{2,}(?: >>([\w ]+?))? ?\*/$")
LARGE = re.compile(r"^/\* (.*?) +(?:>>(\w+) )?\*/$")


def sections_of(lines):
    """(title, line after the banner, end, tag) of each banner of three lines, and the text before the first."""
    starts = [(0, 0, "", None)]
    for i in range(len(lines) - 2):
        if re.match(r"^/\* (={8}|-{8}|#{8})", lines[i]) and RULE.match(lines[i + 2]) and not RULE.match(lines[i + 1]):
            title = LARGE.match(lines[i + 1])
            if title:
                starts.append((i, i + 3, title.group(1), title.group(2)))
    ends = [start[0] for start in starts[1:]] + [len(lines)]
    return [(title, at, end, tag) for (_, at, title, tag), end in zip(starts, ends)]


# ---- what is defined where ---------------------------------------------------------------------------------------------

FUNCTION = re.compile(r"^(?:[A-Za-z_][\w \*]*?[ \*])?(shs_\w+|SHS__\w+|test_\w+|\w+_naive)\(")
TYPE = re.compile(r"^(?:typedef (?:struct|enum|union) (shs_\w+) \{|typedef .*\b(shs_\w+);|typedef .*\(\*(shs_\w+)\)\()")
MACRO = re.compile(r"^#define (SHS_[A-Z]\w*|SPARSEHS_\w+)")


class Book:
    def __init__(self):
        self.anchors = {}      # name: page#anchor of its definition
        self.public = {}       # public function: page#anchor of its declaration
        self.ids = {}          # (file, line): ids that stand there
        self.described = {}    # public function or section: a line about it
        self.terms = {}        # word: anchor in the glossary
        self.pages = []        # (file, title)

    def define(self, name, page, source, line, prefix=""):
        anchor = prefix + name
        self.ids.setdefault((source, line), []).append(anchor)
        return page + "#" + anchor

    def scan(self, source, lines, first, last, page, public):
        """Declarations of the public part; definitions elsewhere, which win."""
        for i in range(first, last):
            line = lines[i]
            if public:
                if line.startswith("SHS_API "):
                    name = re.search(r"(shs_\w+)\(", line)
                    if name:
                        self.public[name.group(1)] = self.define(name.group(1), page, source, i, "api-")
                        self.anchors.setdefault(name.group(1), self.public[name.group(1)])
                    continue
                found = TYPE.match(line) or MACRO.match(line)
                if found:
                    name = [g for g in found.groups() if g][0]
                    if name not in self.anchors:
                        self.anchors[name] = self.define(name, page, source, i)
                elif line.startswith("} shs_"):
                    self.anchors.setdefault(line[2:].rstrip(";"), self.define(line[2:].rstrip(";"), page, source, i, "end-"))
                continue
            name = None
            if line.startswith("SHS__P") or line.startswith("SHS__OUTLINE") or line.startswith("SHS__INLINE"):
                name = re.search(r"\b(shs_\w+)\(", line)
            elif not line.startswith((" ", "#", "/", "*", "}", "typedef", "static const")):
                name = FUNCTION.match(line)
            if name and not line.rstrip().endswith(";") and "#" + name.group(1) not in self.anchors.get(name.group(1), ""):
                self.anchors[name.group(1)] = self.define(name.group(1), page, source, i)
            elif (found := TYPE.match(line)):
                word = [g for g in found.groups() if g][0]
                if word not in self.anchors:
                    self.anchors[word] = self.define(word, page, source, i)


# ---- HTML --------------------------------------------------------------------------------------------------------------

NAMES = re.compile(r"\b(shs_\w+|SHS_[A-Z]\w*|SPARSEHS_\w+|\w+_naive)\b")


def link_names(book, text, here=()):
    def link(match):
        name = match.group(1)
        target = book.anchors.get(name)
        return name if not target or name in here else '<a href="%s">%s</a>' % (target, name)
    return NAMES.sub(link, text)


def link_terms(book, text, seen):
    """The first time that a page uses a word of the glossary."""
    def link(match):
        word = match.group(0)
        key = word.lower()
        key = key if key in book.terms else key[:-1]
        if key in seen:
            return word
        seen.add(key)
        return '<a class="term" href="glossary.html#%s">%s</a>' % (book.terms[key], word)
    return book.term_pattern.sub(link, text) if book.terms else text


def prose(book, comment, seen):
    """A comment as paragraphs; lists stay lists, and what is indented (formulae, tables) stays as it is."""
    lines = [re.sub(r"\s*\*/$", "", line.strip() if k == 0 else line.rstrip()) for k, line in enumerate(comment)]
    lines[0] = re.sub(r"^/\*+ ?", "", lines[0])
    base = min((len(l) - len(l.lstrip()) for l in lines[1:] if l.strip()), default=3)
    lines[1:] = [l[base:] for l in lines[1:]]
    out, kind = [], None

    def to(new):
        nonlocal kind
        if kind != new:
            if kind:
                out.append({"p": "</p>", "pre": "</pre>", "ul": "</li></ul>"}[kind])
            if new:
                out.append({"p": "<p>", "pre": "<pre>", "ul": "<ul><li>"}[new])
            kind = new

    for k, line in enumerate(lines):
        text = link_names(book, html.escape(line.strip(), quote=False))
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            to(None)
        elif k > 0 and line.startswith("- "):
            if kind == "ul":
                out.append("</li><li>")
            to("ul")
            out.append(link_terms(book, text[2:], seen))
        elif kind == "ul" and indent >= 1:
            out.append(link_terms(book, text, seen))
        elif k > 0 and indent >= 2:
            to("pre")
            out.append(link_names(book, html.escape(line, quote=False)))
        else:
            to("p")
            out.append(link_terms(book, text, seen))
    to(None)
    return "\n".join(out)


def render(book, source, lines, coloured, first, last, seen, contents):
    """Rows as HTML. contents collects (anchor, title) of headings."""
    out = ['<div class="rows">']
    for row in rows_of(lines, first, last):
        heading = HEADING.match(row.comment[0]) if len(row.comment) == 1 else None
        if heading:
            title, tag = heading.group(1)[0].upper() + heading.group(1)[1:], heading.group(2)
            anchor, *others = (tag or "h%d" % row.line).split()
            contents.append((anchor, title))
            title = html.escape(title) + "".join('<i id="%s"></i>' % other for other in others)
            out.append('</div><h3 id="%s">%s <a class="line" href="#%s">%d</a></h3><div class="rows">'
                       % (anchor, title, anchor, row.line + 1))
            row.comment = []
        elif row.comment and RULE.match(row.comment[0]):
            row.comment = []
        code = row.code
        while code and not lines[code[0]].strip():
            code = code[1:]
        while code and not lines[code[-1]].strip():
            code = code[:-1]
        if not code and not row.comment:
            continue
        here = [a for i in range(row.line, (row.code or [row.line])[-1] + 1) for a in book.ids.get((source, i), [])]
        left = prose(book, row.comment, seen) if row.comment else ""
        public = [a[4:] for a in here if a.startswith("api-")]
        if public:
            left += '<ul class="related">' + "".join("<li>%s</li>" % related(book, name) for name in public) + "</ul>"
        text = []
        for i in code:
            ids = "".join('<i id="%s"></i>' % a for a in book.ids.get((source, i), []))
            own = [re.sub("^(api|end)-", "", a) for a in book.ids.get((source, i), []) if not a.startswith("api-")]
            shown = link_names(book, coloured[i], own)
            for name in own:
                shown = re.sub(r"\b%s\b" % name, "<b>%s</b>" % name, shown, count=1)
            text.append(wrapped(ids + shown, lines[i]))
        # A table or a drawing that is wider than the column stands above its code.
        if code and any(len(line) > 62 for part in re.findall("<pre>(.*?)</pre>", left, re.S)
                        for line in re.sub("<[^>]*>", "", part).split("\n")):
            out.append('<div class="note alone">%s</div>' % left)
            left = ""
        if code:
            out.append('<div class="note">%s</div><div class="code"><pre>%s</pre></div>' % (left, "".join(text)))
        else:
            out.append('<div class="note alone">%s</div>' % left)
    out.append("</div>")
    return "\n".join(out)


def wrapped(shown, line):
    """A line of code that wraps where the window is narrow. Its continuation begins right of its own indentation. The backslash of
    a macro stands far right and would wrap by itself, so it moves to the text."""
    depth = min(len(line) - len(line.lstrip()), 36) // 4
    shown = re.sub(r"(<span class=\"w\">)? {2,}(</span>)?(?=(<[^>]*>)*\\(<[^>]*>)*$)", " ", shown)
    return '<span class="w%d">%s\n</span>' % (depth, shown)


def functions_of_file():
    """tools/book_functions.txt: {name or section: its line}."""
    described = {}
    for line in read("tools/book_functions.txt").split("\n"):
        if ": " in line and not line.startswith("#"):
            name, text = line.split(": ", 1)
            described[name] = text
    return described


def described(book, name):
    if name.endswith("_workspace"):
        return "Returns the bytes of scratch that %s takes." % name[:-len("_workspace")]
    return book.described[name]


def related(book, name):
    """The public function's name, and where its definition, twins, kernels and lesson are."""
    short = name[4:]
    serves = re.search(r"_(workspace|defaults|create|free|name|size)$", short)
    links = ['<a class="name" href="%s">%s</a>' % (book.public[name], name)]
    body = book.anchors.get(name)
    if body and body != book.public[name]:
        links.append('<a href="%s">body</a>' % body)
    nothing = ["", "", "", "", ""]
    row = nothing if serves else next((r for r in RELATED if (short + " ").startswith(r[0])), nothing)
    stem = re.sub(r"_(ex|run|fit|transform|update|find|from_noise|direct)$", "", short)
    twins = [t for t in [short, stem] + row[1].split() + [row[0]] if "shs_%s_naive" % t in book.anchors]
    if not short.endswith("_naive") and not serves:
        for t in dict.fromkeys(twins):
            links.append('<a class="twin" href="%s">twin: %s</a>' % (book.anchors["shs_%s_naive" % t], t + "_naive"))
    plain = short.endswith("_naive")
    for tag in row[2].split():
        if tag in book.tags and not plain:
            links.append('<a class="kernel" href="%s#%s">%s</a>' % (book.tags[tag], tag, tag))
    for file in row[3].split():
        if file in book.devices and not plain:
            links.append('<a class="kernel" href="%s">%s</a>' % (book.devices[file], file))
    lesson = book.lessons.get(row[4])
    if lesson:
        links.append('<a class="lesson" href="%s">lesson %s</a>' % (lesson, row[4]))
    return " ".join(links)


# How the line of code wraps: see wrapped().
DEPTHS = " ".join(".w%d { --w: %d; }" % (depth, depth) for depth in range(1, 10))
STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #22252a; --quiet: #6a7078; --line: #e3e2dc; --code: #f5f4ef;
  --link: #0b5fa5; --k: #8a2f6a; --t: #1f6f5c; --s: #94570b; --n: #7a4b00; --c: #6d7680; --p: #7d5a9e; --f: #1d4f91; }
@media (prefers-color-scheme: dark) { :root { --paper: #17191c; --ink: #d9dce0; --quiet: #8f97a1; --line: #2d3136;
  --code: #1e2125; --link: #7fb8ee; --k: #e394c4; --t: #7fd0b8; --s: #e2b36f; --n: #e5c07b; --c: #87919c; --p: #c3a6e6;
  --f: #8fbcf5; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 3.2rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 Georgia, "DejaVu Serif", serif; }
a { color: var(--link); text-decoration: none; } a:hover, a:focus { text-decoration: underline; }
nav { position: sticky; top: 0; z-index: 1; display: flex; gap: 1.2rem; align-items: baseline; padding: .55rem 1.2rem;
  overflow-x: auto; white-space: nowrap; background: var(--paper); border-bottom: 1px solid var(--line);
  font: 14px/1.5 system-ui, sans-serif; }
nav .right { margin-left: auto; display: flex; gap: 1.2rem; }
main { padding: 0 1.2rem 4rem; max-width: 110rem; margin: 0 auto; }
.text { max-width: 46rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 1.6rem 0 .6rem; } h2 { font-size: 1.45rem; margin: 2.6rem 0 .6rem; }
h3 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; } .line { color: var(--quiet); font: 12px system-ui, sans-serif; }
.rows { display: grid; grid-template-columns: minmax(15rem, 26rem) minmax(0, 1fr); column-gap: 1.4rem; }
.note { font-size: .95rem; padding: .35rem 0; overflow-wrap: anywhere; } .note p { margin: 0 0 .5rem; }
.note ul { margin: 0 0 .5rem; padding-left: 1.1rem; }
.alone { grid-column: 1 / -1; font-size: 1rem; min-width: 0; }
.alone p, .alone ul { max-width: 50rem; } .alone pre { font-size: 12.5px; }
.code { background: var(--code); min-width: 0; }
.code pre { position: relative; margin: 0; padding: .3rem .9rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.code pre > span { display: block; padding-left: calc(var(--w, 0) * 4ch + 6ch); text-indent: calc(var(--w, 0) * -4ch - 6ch); }
%s
.code b { color: var(--f); }
pre, code { font: 12.5px/1.5 "DejaVu Sans Mono", Menlo, Consolas, monospace; } .code pre a { color: inherit; }
.note pre { overflow-x: auto; margin: 0 0 .5rem; font-size: 11.5px; }
.code pre a:hover { color: var(--link); } .code i { position: relative; top: -.4rem; }
.term { color: inherit; border-bottom: 1px dotted var(--quiet); }
.related { list-style: none; padding: 0 !important; font: 12.5px/1.7 system-ui, sans-serif; }
.related a { display: inline-block; white-space: nowrap; }
.related a:not(.name) { padding: 0 .45rem; border: 1px solid var(--line); border-radius: .6rem; margin-right: .15rem; }
.related .name { font: 12.5px "DejaVu Sans Mono", monospace; margin-right: .3rem; }
.toc { columns: 17rem; font-size: .93rem; padding-left: 1.1rem; } details summary { cursor: pointer; color: var(--link); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; padding: 0; list-style: none; }
.cards li { border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; }
.cards p { margin: .25rem 0 0; color: var(--quiet); font-size: .88rem; }
.about { margin: 0; font: 15px/1.5 Georgia, "DejaVu Serif", serif; }
[hidden] { display: none !important; } input { font: inherit; color: inherit; background: var(--code); padding: .15rem .5rem;
  border: 1px solid var(--line); border-radius: .4rem; } nav form { margin: 0; } nav input { width: 11rem; }
.search { font: 16px/1.5 system-ui, sans-serif; } .search input { width: min(26rem, 100%); } output { color: var(--quiet); }
.manual { overflow-x: auto; white-space: pre; } .list li { padding: .3rem 0; border-bottom: 1px solid var(--line); }
dt { font-weight: bold; margin-top: .8rem; }
dd { margin: 0 0 0 1.2rem; overflow-wrap: anywhere; } dd .line a { white-space: nowrap; }
.k,.kr,.kc { color: var(--k); } .kt { color: var(--t); } .s,.s1,.sc,.cpf { color: var(--s); } .m,.mi,.mf,.mh { color: var(--n); }
.c,.c1,.cm { color: var(--c); font-style: italic; } .cp { color: var(--p); }
@media (max-width: 56rem) {
  .rows { grid-template-columns: minmax(0, 1fr); } main { padding: 0 .8rem 3rem; }
  nav { position: static; flex-wrap: wrap; gap: .3rem 1rem; padding: .5rem .8rem; } nav .right { margin: 0; }
  .note { padding: .8rem 0 .3rem; } .code pre { font-size: 11.5px; padding: .4rem .6rem; } h1 { font-size: 1.6rem; } }
@media print { nav { display: none; } }
"""


# The search field of the list: all words typed must occur in a function's name, line or section. Without scripts it stays hidden.
# functions.html?q=words, to which the field of every other page leads, searches at once.
SEARCH = """
var field = document.getElementById("find"), found = document.getElementById("found");
var items = Array.from(document.querySelectorAll(".list > li"), function (item) {
  var section = item.closest("section");
  return { item: item, section: section, text: (item.querySelector(".name").textContent + " " +
    item.querySelector(".about").textContent + " " + section.firstChild.textContent).toLowerCase() };
});
function search() {
  var words = field.value.toLowerCase().split(/\\s+/), count = 0;
  document.querySelectorAll("section").forEach(function (section) { section.hidden = true; });
  items.forEach(function (each) {
    var fits = words.every(function (word) { return each.text.includes(word); });
    each.item.hidden = !fits;
    if (fits) each.section.hidden = false, count++;
  });
  found.textContent = count + " of " + items.length + (count ? "" : ": try fewer or shorter words");
}
field.parentNode.hidden = false;
field.value = new URLSearchParams(location.search).get("q") || "";
field.addEventListener("input", search);
search();
"""


def page(book, file, title, body, wide=True):
    order = [name for name, _ in book.pages]
    at = order.index(file) if file in order else -1
    before = '<a href="%s" rel="prev">&larr; %s</a>' % book.pages[at - 1] if at > 0 else ""
    after = '<a href="%s" rel="next">%s &rarr;</a>' % book.pages[at + 1] if 0 <= at < len(order) - 1 else ""
    find = ('<form action="functions.html"><input type="search" name="q" placeholder="Search functions" '
            'aria-label="Search functions"></form>') if file != "functions.html" else ""
    text = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s - sparsehs</title><link rel="stylesheet" href="book.css"></head>
<body><nav><a href="index.html">Contents</a><a href="functions.html">Functions</a><a href="glossary.html">Glossary</a>
%s<span class="right">%s%s</span></nav><main%s><h1>%s</h1>
%s
</main></body></html>
""" % (html.escape(title), find, before, after, "" if wide else ' class="text"', html.escape(title), body)
    with open(os.path.join(OUT, file), "w", encoding="utf-8") as out:
        out.write(text)


def colour(text):
    formatter = HtmlFormatter(nowrap=True)
    lines = highlight(text, CLexer(stripnl=False, ensurenl=False), formatter).split("\n")
    count = text.count("\n") + 1
    return (lines + [""] * count)[:count]


def glossary_of(lines):
    """Terms of tools/book_glossary.txt, and the header's own list."""
    entries = []
    for line in read("tools/book_glossary.txt").split("\n"):
        if ": " in line and not line.startswith("#"):
            term, meaning = line.split(": ", 1)
            entries.append((term, meaning))
    at = next(i for i, line in enumerate(lines) if line.startswith("/* ---- glossary"))
    for line in lines[at + 2:]:
        found = re.match(r"^(?:/\*|  )   (\w+)\s\s+(.*)$", line)
        more = re.match(r"^ {15}(.*)$", line)
        if found:
            entries.append([found.group(1), found.group(2)])
        elif more:
            entries[-1][1] += " " + more.group(1).strip()
        else:
            break
    return entries


def main():
    os.makedirs(OUT, exist_ok=True)
    text = read(HEADER)
    lines, coloured = text.split("\n"), colour(text)
    book = Book()
    sections = sections_of(lines)
    split = next(i for i, s in enumerate(sections) if s[0].startswith("IMPLEMENTATION"))
    licence = next(i for i, line in enumerate(lines) if line.startswith("/* LICENCE"))

    # Chapters: both parts of a section under one number; the kernels and the engine have names.
    chapters = {}
    manual_end = next(i for i, line in enumerate(lines) if line.startswith("*/"))
    banners = {}
    for k, (title, first, end, banner) in enumerate(sections[1:], 1):
        if k == split:
            continue
        number = re.match(r"^(\d+)  ", title)
        key = number.group(1) if number else title.split(",")[0].lower()
        if k == 1 or k == split + 1: # what stands before the first section of a part belongs to it
            first = manual_end + 1 if k == 1 else sections[split][1]
        chapters.setdefault(key, []).append((title, first, min(end, licence), k < split))
        banners[banner] = key
    keys = sorted(chapters, key=lambda c: (int(c) if c.isdigit() else 3.5 if c == "kernels" else 99))
    names = {c: "section_%s.html" % re.sub(r"\W+", "_", c) for c in keys}

    def chapter_title(c):
        title = chapters[c][0][0].split(": ")[0]
        words = re.sub(r"^\d+  ", "", title)
        return (c + " " if c.isdigit() else "") + words.capitalize()

    kernels = sorted(f for f in os.listdir("kernels_embed") if f.endswith((".cl", ".h")))
    twins = sorted(f for f in os.listdir("tests") if f.endswith((".c", ".h")) and
                   re.search(r"^(?:static )?[a-z]\w* \*?shs_\w+_naive\(", read("tests/" + f), re.M))
    others = [("kernels_embed/" + f, "kernels_%s.html" % re.sub(r"\W", "_", f)) for f in kernels]
    others += [("tests/" + f, "tests_%s.html" % re.sub(r"\W", "_", f)) for f in twins]
    book.pages = [("index.html", "Contents"), ("manual.html", "Manual")]
    book.pages += [(names[c], chapter_title(c)) for c in keys] + [(p, f) for f, p in others]
    book.devices = {os.path.basename(f): p for f, p in others if f.startswith("kernels")}
    up = os.path.relpath(".", OUT).replace(os.sep, "/")
    book.lessons = {f[0]: "%s/%s/%s" % (up, COURSE, f) for f in (os.listdir(COURSE) if os.path.isdir(COURSE) else [])
                    if re.match(r"^\d_\w+\.md$", f)}

    book.tags = {}
    for c in keys:
        for title, first, end, public in chapters[c]:
            book.scan(HEADER, lines, first, end, names[c], public)
            for i in range(first, end):
                tag = HEADING.match(lines[i])
                for word in (tag.group(2) or "").split() if tag else ():
                    book.tags[word] = names[c]
    sources = {}
    for file, target in others:
        body = read(file)
        sources[file] = (body.split("\n"), colour(body))
        book.scan(file, sources[file][0], 0, len(sources[file][0]), target, False)

    entries = sorted(glossary_of(lines), key=lambda e: e[0].lower())
    for term, _ in entries:
        book.terms[term.lower()] = re.sub(r"\W+", "-", term.lower())
    common = ("own", "run", "line", "sample", "group", "job", "element")  # in nearly every comment
    words = sorted((re.escape(t) for t, _ in entries if t not in common), key=len, reverse=True)
    book.term_pattern = re.compile(r"(?<![\w</#\">-])(?:%s)s?(?![\w<-])(?![^<]*</a>)" % "|".join(words), re.I)

    # ---- pages
    tops = []
    for c in keys:
        seen, parts, contents = set(), [], []
        for title, first, end, public in chapters[c]:
            anchor = "public" if public else "body"
            head = ("Public part" if public else "Implementation") if len(chapters[c]) > 1 else ""
            inner = []
            parts.append(('<h2 id="%s">%s</h2>' % (anchor, head) if head else "") +
                         render(book, HEADER, lines, coloured, first, end, seen, inner))
            contents += ([(anchor, head)] if head else []) + inner
        # Headings of the two parts may be called alike: the links are to what is there.
        toc = "".join('<li><a href="#%s">%s</a></li>' % (a, html.escape(t)) for a, t in contents)
        fold = "<details%s><summary>On this page</summary><ul class=\"toc\">%s</ul></details>" % (
            " open" if len(contents) < 40 else "", toc) if toc else ""
        page(book, names[c], chapter_title(c), fold + "\n".join(parts))
        count = sum(end - first for _, first, end, _ in chapters[c])
        tops.append((c, chapter_title(c), count))
    for file, target in others:
        body, tinted = sources[file]
        page(book, target, file, render(book, file, body, tinted, 0, len(body), set(), []))

    manual = lines[:manual_end]
    manual[0] = re.sub(r"^/\* ", "   ", manual[0])

    def tag_link(match):
        word = match.group(0)
        if word in book.tags:
            return '<a href="%s#%s">%s</a>' % (book.tags[word], word, word)
        if word in banners:
            return '<a href="%s%s">%s</a>' % (names[banners[word]], "#body" if len(chapters[banners[word]]) > 1 else "", word)
        return word

    shown = []
    for line in manual:
        text = link_names(book, html.escape(line[3:], quote=False))
        what, mark, tags = text.partition("&gt;&gt;")
        if mark and re.match(r"^ {4} *(\d+|-)  ", line):
            text = what + mark + re.sub(r"\b[a-z]\w+\b", tag_link, tags)
        elif re.match(r"^ {40,}\w+( \w+)*$", line):
            text = re.sub(r"\b[a-z]\w+\b", tag_link, text)
        shown.append(text)
    rights = re.sub(r"\s*\*/\s*$", "", "\n".join(lines[licence:])).replace("/* ", "   ", 1)
    page(book, "manual.html", "Manual", '<p class="text">What stands at the top of the file.</p><pre class="manual">%s</pre>'
         '<h2>Licence</h2><pre class="manual">%s</pre>' % ("\n".join(shown), html.escape(rights, quote=False)))

    book.described = functions_of_file()
    wanted = set(keys) | {name for name in book.public if not name.endswith("_workspace")}
    if wanted != set(book.described):
        sys.exit("tools/book_functions.txt: no line for: %s; a line for what is not in %s: %s" % (
            " ".join(sorted(wanted - set(book.described))) or "-", HEADER, " ".join(sorted(set(book.described) - wanted)) or "-"))
    rows = ""
    for c in keys:
        own = [name for name in book.public if book.public[name].startswith(names[c])]
        if own:
            rows += '<section><h3>%s</h3><ul class="related list">%s</ul></section>' % (chapter_title(c), "".join(
                '<li>%s<p class="about">%s</p></li>' % (related(book, name), html.escape(described(book, name))) for name in own))
    page(book, "functions.html", "Public functions",
         '<p class="text">%d functions, each with its body, its textbook twins (plain loops, the reference of the tests), '
         'the kernels of processors (k_...) and of devices (.cl) that do its work, and its lesson of the course.</p>'
         '<p class="search" hidden><label for="find">Search</label> <input type="search" id="find" placeholder="denoise, '
         'eigenvalues, shs_omp ..." autocomplete="off"> <output for="find" id="found"></output></p>%s<script>%s</script>'
         % (len(book.public), rows, SEARCH.strip()))
    uses = {}
    plain = {c: " ".join(" ".join(r.comment) for _, f, e, _ in chapters[c] for r in rows_of(lines, f, e)).lower() for c in keys}
    for term, _ in entries:
        pattern = re.compile(r"\b%ss?\b" % re.escape(term.lower()))
        count = sorted(((len(pattern.findall(plain[c])), c) for c in keys), reverse=True)
        uses[term] = [c for n, c in count[:3] if n]
    page(book, "glossary.html", "Glossary", "<p>The field's words and those of this library.</p><dl>%s</dl>" % "".join(
        '<dt id="%s">%s</dt><dd>%s%s</dd>' % (
            book.terms[t.lower()], html.escape(t), link_names(book, html.escape(m, quote=False)),
            ' <span class="line">most in %s</span>' % ", ".join('<a href="%s">%s</a>' % (names[c], chapter_title(c))
                                                              for c in uses[t]) if uses[t] else "") for t, m in entries), False)
    counts = {c: sum(target.startswith(names[c] + "#") for target in book.public.values()) for c in keys}
    cards = "".join('<li><a href="%s">%s</a><br><span class="line">%s%s lines</span><p>%s</p></li>' % (
        names[c], html.escape(t), "%d functions, " % counts[c] if counts[c] else "", format(count, ","),
        html.escape(book.described[c])) for c, t, count in tops)
    more = "".join('<li><a href="%s">%s</a></li>' % (p, f) for f, p in others)
    page(book, "index.html", "sparsehs, read as a book",
         '<div class="text"><p>%s</p><p>The header reads from top to bottom, lowest layer first. Each section has its public '
         'part, then its implementation; the comments stand on the left, the code on the right, and every name leads to where '
         'it is defined.</p>'
         '<p><a href="manual.html">The manual</a>, <a href="functions.html">all public functions</a> with their textbook twins, '
         'kernels and lessons, <a href="glossary.html">the glossary</a>.</p></div><h2>Sections</h2><ul class="cards">%s</ul>'
         '<h2>Kernels for devices%s</h2><ul class="toc">%s</ul>'
         % (html.escape(re.sub(r"^/\* ", "", lines[0])), cards, ", and textbook twins" if twins else "", more))
    with open(os.path.join(OUT, "book.css"), "w", encoding="utf-8") as out:
        out.write(STYLE.lstrip().replace("%s", DEPTHS))
    print("book: %d pages, %d public functions: %s/index.html" % (len(book.pages) + 2, len(book.public), OUT))


if __name__ == "__main__":
    main()
