"""The pages of `make book`: every link resolves; every public function, section, part and line of code of sparsehs.h is on them;
every function and section has a line that describes it. With --look headless Chromium opens some pages as well, keeps pictures
of them beside the pages, measures the code's width and searches. From the project's root:

    python3 tests/programs/test_book.py build/book [--look]"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser

FOLDER = sys.argv[1] if len(sys.argv) > 1 else "build/book"
faults = []


class Page(HTMLParser):
    void = {"meta", "link", "br", "img", "hr", "input"}

    def __init__(self, name):
        super().__init__(convert_charrefs=True)
        self.name, self.ids, self.links, self.open, self.code, self.text = name, set(), [], [], [], []
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            self.feed(file.read())
        self.close()
        if self.open:
            faults.append("%s: <%s> is not closed" % (name, self.open[-1]))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            if values["id"] in self.ids:
                faults.append("%s: two elements have the id %s" % (self.name, values["id"]))
            self.ids.add(values["id"])
        if "href" in values:
            self.links.append(values["href"])
            if tag == "a" and "a" in self.open:
                faults.append("%s: a link within a link to %s" % (self.name, values["href"]))
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.void:
            return
        if not self.open or self.open[-1] != tag:
            faults.append("%s: </%s> within <%s> at %s" % (self.name, tag, self.open[-1] if self.open else "", self.getpos()))
        elif self.open:
            self.open.pop()
        if tag == "pre":
            self.code.append("\n")

    def handle_data(self, data):
        (self.code if "pre" in self.open else self.text).append(data)


def browse(browser, width, dark, page, *options):
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                               "--hide-scrollbars", "--user-data-dir=" + home,
                               "--blink-settings=preferredColorScheme=%d" % (not dark),
                               "--window-size=%d,1600" % width, *options, "file://" + os.path.abspath(os.path.join(FOLDER, page))],
                              env=dict(os.environ, HOME=home), stderr=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=120,
                              encoding="utf-8").stdout


# Counts the pages and blocks of code that are wider than their place.
MEASURE = """<script>
var places = Array.from(document.querySelectorAll("html, .code, .code pre"));
var wide = places.filter(function (place) { return place.scrollWidth > place.clientWidth; });
document.body.insertAdjacentHTML("beforeend", "<p>wide: " + wide.length + "</p>");
</script></body>"""


# A page within a frame says how wide it is; a window of its own has at least 500 pixels.
TELEPHONE = 360
SAY_WIDTH = "<script>parent.postMessage(\"%s: \" + document.documentElement.scrollWidth, \"*\");</script></body>"
FRAME = "<iframe src=\"measured_%%s.html\" width=\"%d\" height=\"800\" style=\"border:0\"></iframe>" % TELEPHONE
LISTEN = """<body><script>
addEventListener("message", function (event) {
    document.body.insertAdjacentHTML("beforeend", "<p>" + event.data + "</p>");
});
</script>"""


def look_on_telephone(browser):
    """No page is wider than a narrow telephone."""
    names = ("index", "functions", "glossary", "manual", "section_6", "section_12")
    written = ["measured.html"]
    for name in names:
        with open(os.path.join(FOLDER, name + ".html"), encoding="utf-8") as file:
            text = file.read().replace("</body>", SAY_WIDTH % name)
        written.append("measured_%s.html" % name)
        with open(os.path.join(FOLDER, written[-1]), "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(FOLDER, written[0]), "w", encoding="utf-8") as file:
        file.write(LISTEN + "".join(FRAME % name for name in names) + "</body>")
    shown = browse(browser, 1280, 0, written[0], "--virtual-time-budget=20000", "--dump-dom")
    for name in written:
        os.remove(os.path.join(FOLDER, name))
    widths = dict(re.findall(r"<p>(\w+): (\d+)</p>", shown))
    for name in names:
        if widths.get(name) != str(TELEPHONE):
            faults.append("%s: %s pixels wide on a telephone; %d are expected"
                          % (name, widths.get(name, "not measured"), TELEPHONE))


def look():
    """Pictures of some pages on a desk and on a telephone, in light and dark: an empty one packs to almost nothing. No code is cut
    off, and the search field finds a function by a word of its line."""
    browser = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), None)
    if not browser:
        print("test-book: skipped: there is no Chromium here; make people-deps installs it")
        return
    for name, width, dark in (("index", 1280, 0), ("section_6", 1280, 1), ("functions", 390, 0), ("section_12", 390, 1)):
        picture = os.path.join(FOLDER, "%s_%d.png" % (name, width))
        browse(browser, width, dark, name + ".html", "--screenshot=" + picture)
        if not os.path.exists(picture) or os.path.getsize(picture) < 40000:
            faults.append("%s, %d pixels wide: the picture is blank" % (name, width))
    with open(os.path.join(FOLDER, "section_6.html"), encoding="utf-8") as file:
        measured = file.read().replace("</body>", MEASURE)
    with open(os.path.join(FOLDER, "measured.html"), "w", encoding="utf-8") as file:
        file.write(measured)
    wide = re.search(r"<p>wide: (\d+)</p>", browse(browser, 1280, 0, "measured.html", "--dump-dom"))
    os.remove(os.path.join(FOLDER, "measured.html"))
    if not wide or wide.group(1) != "0":
        faults.append("section_6, 1280 pixels wide: %s blocks of code are cut off; 0 are expected"
                      % (wide.group(1) if wide else "?"))
    look_on_telephone(browser)
    shown = browse(browser, 1280, 0, "functions.html?q=ANOMALY+class", "--dump-dom")
    left = re.findall(r'<li><a class="name"[^>]*>(shs_\w+)', shown) # the others are <li hidden="">
    if left != ["shs_rx_classes", "shs_rx_classes_naive"]:
        faults.append("a search for \"ANOMALY class\" finds %s; shs_rx_classes and its twin are expected"
                      % (", ".join(left[:5]) or "nothing"))


def main():
    pages = {name: Page(name) for name in sorted(os.listdir(FOLDER)) if name.endswith(".html")}
    links = 0
    for page in pages.values():
        for link in page.links:
            target, _, anchor = link.partition("#")
            links += 1
            if target and not os.path.exists(os.path.join(FOLDER, target)):
                faults.append("%s: %s is not there" % (page.name, link))
            elif anchor and (target or page.name) in pages and anchor not in pages[target or page.name].ids:
                faults.append("%s: nothing has the name that %s asks for" % (page.name, link))
    with open("sparsehs.h", encoding="utf-8") as file:
        header = file.read()
    ids = {(page.name, i) for page in pages.values() for i in page.ids}
    everywhere = {i for _, i in ids}
    functions = set(re.findall(r"^SHS_API (?:[\w ]+[ \*])(shs_\w+)\(", header, re.M))
    listed = set(re.findall(r"#api-(shs_\w+)", " ".join(pages["functions.html"].links)))
    for name in sorted(functions):
        if "api-" + name not in everywhere:
            faults.append("%s is declared on no page" % name)
        if name not in everywhere:
            faults.append("the body of %s is on no page" % name)
        if name not in listed:
            faults.append("%s is not in the list of functions" % name)
    for tag in " ".join(re.findall(r"^/\* ---- .* >>([\w ]+) \*/$", header, re.M)).split():
        if tag not in everywhere:
            faults.append("the part >>%s is on no page" % tag)
    titles = " ".join(" ".join(page.text) for page in pages.values()).lower()
    for title in re.findall(r"^/\* =+ \*/\n/\* (?:\d+  )?([A-Z][A-Z ]+)", header, re.M):
        if title.strip().lower() not in titles:
            faults.append("the section %s is on no page" % title)
    # Every line of code, spaces aside; comments may have become paragraphs.
    shown = {re.sub(r"\s+", "", line) for page in pages.values() for line in "".join(page.code).split("\n")}
    code = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", "", m.group(0)), header, flags=re.S)
    bare = {re.sub(r"\s+", "", re.sub(r"/\*.*?(\*/|$)", "", line)) for page in pages.values()
            for line in "".join(page.code).split("\n")}
    for number, line in enumerate(code.split("\n"), 1):
        text = re.sub(r"\s+", "", line)
        if text and text not in bare and text not in shown:
            faults.append("line %d is on no page: %s" % (number, line.strip()))
    with open(os.path.join(FOLDER, "functions.html"), encoding="utf-8") as file:
        functions_page = file.read()
    for word in ("twin", "kernel"):
        if 'class="%s"' % word not in functions_page:
            faults.append("no function has a %s" % word)
    for name in sorted(functions):
        line = re.search(r'>%s</a>(?:(?!<li>).)*?<p class="about">([^<]*)</p>' % name, functions_page)
        if not line or len(line.group(1)) < 15:
            faults.append("%s has no line that describes it" % name)
    if 'type="search"' not in functions_page or "<script>" not in functions_page:
        faults.append("functions.html has no search field")
    with open(os.path.join(FOLDER, "index.html"), encoding="utf-8") as file:
        cards = re.findall(r"<p>([^<]*)</p></li>", file.read())
    if len(cards) < 16 or not all(cards):
        faults.append("%d of %d cards of sections are empty" % (cards.count(""), len(cards)))
    if "--look" in sys.argv:
        look()
    for fault in faults[:40]:
        print("test-book: " + fault)
    print("test-book: %d pages, %d links, %d public functions: %s" % (len(pages), links, len(functions),
                                                                      "%d faults" % len(faults) if faults else "all there"))
    sys.exit(bool(faults) or len(functions) < 100)


main()
