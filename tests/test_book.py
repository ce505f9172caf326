"""The pages of `make book`: every link resolves, every public function, section and part of sparsehs.h is on them, and so is every
line of code. With --look they are opened in headless Chromium as well, whose pictures are kept beside them. From the project's
root: python3 tests/test_book.py build/book [--look]"""
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


def look():
    """Pictures of some pages on a desk and on a telephone, in light and dark: an empty one packs to almost nothing."""
    browser = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), None)
    if not browser:
        print("test-book: skipped: there is no Chromium here; make people-deps installs it")
        return
    for name, width, dark in (("index", 1400, 0), ("section_6", 1400, 1), ("functions", 420, 0), ("section_12", 420, 1)):
        with tempfile.TemporaryDirectory() as home:
            picture = os.path.join(FOLDER, "%s_%d.png" % (name, width))
            subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                            "--user-data-dir=" + home, "--blink-settings=preferredColorScheme=%d" % (not dark),
                            "--window-size=%d,1600" % width, "--screenshot=" + picture,
                            "file://" + os.path.abspath(os.path.join(FOLDER, name + ".html"))],
                           env=dict(os.environ, HOME=home), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=120)
            if not os.path.exists(picture) or os.path.getsize(picture) < 40000:
                faults.append("%s, %d pixels wide: the picture is blank" % (name, width))


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
    for word in ("twin", "kernel"):
        if not re.search('class="%s"' % word, open(os.path.join(FOLDER, "functions.html"), encoding="utf-8").read()):
            faults.append("no function has a %s" % word)
    if "--look" in sys.argv:
        look()
    for fault in faults[:40]:
        print("test-book: " + fault)
    print("test-book: %d pages, %d links, %d public functions: %s" % (len(pages), links, len(functions),
                                                                      "%d faults" % len(faults) if faults else "all there"))
    sys.exit(bool(faults) or len(functions) < 100)


main()
