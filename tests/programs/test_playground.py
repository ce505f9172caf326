#!/usr/bin/env python3
"""The page of the playground in headless Chromium: it loads without a message, computes what the programs in C compute, can be
stopped, and refuses what it cannot read with a sentence; served with the headers for them it does so with threads, to the bit.
This says how much sooner. From the project's root, after make playground:

    python3 tests/programs/test_playground.py build/playground
"""
import base64
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time
import zlib

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

folder = pathlib.Path(sys.argv[1]).resolve()
passed = failed = 0


def check(name, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print("ok     " if good else "FAILED ", name, flush=True)


def pixels(name):
    """Of a PGM."""
    data = pathlib.Path(name).read_bytes()
    return data[len(data) - 256 * 256:]


def plain_png(width, height, colour):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(colour) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def png(data):
    """Width, height and the bytes of red, green and blue of a PNG of 8 bits with or without alpha."""
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += 12 + size
    step = 4 if colour == 6 else 3
    flat, above, out = zlib.decompress(packed), bytearray(width * step), bytearray()
    for y in range(height):
        start = y * (width * step + 1)
        how, row = flat[start], bytearray(flat[start + 1:start + 1 + width * step])
        for i, value in enumerate(row):
            left, up, corner = (row[i - step] if i >= step else 0), above[i], (above[i - step] if i >= step else 0)
            near = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            row[i] = (value + (0, left, up, (left + up) // 2, near)[how]) & 255
        above = row
        for x in range(width):
            out += row[x * step:x * step + 3]
    return width, height, bytes(out)


def processor_times():
    """Milliseconds that each worker thread of a browser's page has had of a processor, where /proc says it."""
    times = {}
    for task in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*"):
        try:
            if (task / "comm").read_text() == "DedicatedWorker\n":
                fields = (task / "stat").read_text().split()
                times[task.name] = (int(fields[13]) + int(fields[14])) * 1000 / os.sysconf("SC_CLK_TCK")
        except OSError:  # it has ended
            pass
    return times


def plural(threads):
    return f"{threads} thread" + "s" * (threads > 1)


def until(what, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


with tempfile.TemporaryDirectory() as work:
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     f"--user-data-dir={work}/profile"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    page = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    page.set_window_size(1200, 1500)
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": work})

    def run(script, *arguments):
        return page.execute_script(script, *arguments)

    def element(name):
        return page.find_element(By.ID, name)

    def said():
        return element("said").text

    def slide(name, value):
        run("const s = document.getElementById(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('input')); s.dispatchEvent(new Event('change'));", name, value)

    def picture_of(name):
        (folder / (name + ".png")).write_bytes(base64.b64decode(page.get_screenshot_as_base64()))

    def floats(expression):
        """An array of the page, as bytes as a file has them."""
        return bytes(run(f"return Array.from({expression}, v => v < 0 ? 0 : v > 255 ? 255 : Math.floor(Math.fround(v + 0.5)))"))

    def bits(expression):
        """A check sum of an array of the page, whatever its type."""
        return run(f"return new Uint32Array({expression}.slice().buffer)"
                   ".reduce((h, v) => Math.imul(h ^ v, 16777619) >>> 0, 2166136261)")

    def learn():
        """Returns whether it did."""
        run("repaired = null")
        element("repair").click()
        return until(lambda: run("return repaired !== null") and said().startswith(("Denoised", "Filled in")))

    def components():
        """Of the scene by each method, as check sums."""
        element("tab-cube").click()
        until(lambda: "160 x 120 pixels and 100 bands" in said())
        sums = {}
        for method in ("1", "2", "4", "16"):
            run("found = null, document.getElementById('method').value = arguments[0]", method)
            element("analyse").click()
            until(lambda: run("return found !== null") and "ms" in said())
            sums[method] = bits("found.components")
        return sums

    page.get((folder / "index.html").as_uri())
    check("it starts", until(lambda: said().startswith("Ready")))
    check("it says what was done", said() == "Ready: noise of sigma 25 added: 20.2 dB. Next: learn and repair.")

    def blank(name):
        """Whether nothing is painted."""
        return run("const c = document.getElementById(arguments[0]);"
                   "const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', { willReadFrequently: true });"
                   "copy.drawImage(c, 0, 0);"
                   "return copy.getImageData(0, 0, c.width, c.height).data.every(v => v === 0)"
                   " && getComputedStyle(c).backgroundColor === 'rgba(0, 0, 0, 0)'", name)

    for name in ("repaired", "dictionary", "colours", "component"):
        check(f"{name}: no black square before it is computed", blank(name) and not element("save-" + name).is_enabled())
    check("says what it was built for", "sparsehs" in element("build").text)
    check("one thread without a server", "; 1 thread; more where" in element("build").text)

    # The same picture and the same result, to the bit, as denoise by the same compiler.
    node = ["node", str(folder / "denoise.js")]
    subprocess.run(node + ["--draw", "drawn.pgm"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(node + ["drawn.pgm", "out.pgm", "--add-noise", "--sigma", "25", "--iterations", "3", "--patches", "40000"], cwd=work, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check("the drawn picture is that of denoise", floats("picture.pixels") == pixels(f"{work}/drawn.pgm"))
    slide("iterations", 3)
    element("repair").click()
    check("it learns and repairs", until(lambda: "Learnt" in element("repaired-says").text or "PSNR" in element("repaired-says").text))
    check("the repaired picture is that of denoise", floats("repaired") == pixels(f"{work}/out.pgm"))
    check("it shows the atoms", "256 atoms" in element("dictionary-says").text)
    check("it shows the error of each iteration", until(lambda: page.find_elements(By.CSS_SELECTOR, "#errors svg")))
    check("it codes a patch", until(lambda: "atoms" in element("patch-says").text and "is left" in element("patch-says").text))
    steps = page.find_elements(By.CSS_SELECTOR, "#steps div")
    check("step by step", len(steps) >= 3)
    errors = [float(s.text.split("off by ")[1]) for s in steps if "off by" in s.text]
    check("each atom leaves less", errors == sorted(errors, reverse=True) and len(errors) >= 2)
    check("it says the result", until(lambda: re.fullmatch(r"Denoised: 20\.2 -> 29\.\d dB in [\d.]+ s\.", said())))
    check("the dB of the status are those below the picture",
          abs(float(said().split()[3]) - float(element("repaired-says").text.split()[2])) <= 0.051)
    picture_of("picture")

    def saved(name):
        """The PNG that a button saves, as width, height and bytes of RGB."""
        target = pathlib.Path(work) / f"sparsehs_{name}.png"
        element("save-" + name).click()
        check(f"{name}: saved as PNG", until(target.exists, 30) and said().startswith(f"Saved: sparsehs_{name}.png, "))
        return png(target.read_bytes())

    width, height, rgb = saved("repaired")
    want = run("return Array.from(repaired, v => Math.round(Math.min(255, Math.max(0, v))))")
    check("the saved picture is the repaired one", (width, height) == (256, 256) and
          all(rgb[3 * i] == rgb[3 * i + 1] == rgb[3 * i + 2] and abs(rgb[3 * i] - v) <= 1 for i, v in enumerate(want)))
    width, height, rgb = saved("damaged")
    check("the saved spoilt picture has no mark of a patch", all(rgb[i] == rgb[i + 1] == rgb[i + 2] for i in range(0, len(rgb), 3)))
    saved("dictionary")

    before = element("patch-says").text
    element("damaged").send_keys(Keys.ARROW_LEFT)
    check("the keyboard chooses another patch", until(lambda: element("patch-says").text != before))
    check("it says how the patch was coded", until(lambda: re.fullmatch(r"Patch coded: \d+ atoms?, error [\d.]+ -> [\d.]+\.", said())))

    alone = {"repaired": bits("repaired"), "atoms": bits("dictionary.atoms")}

    def shown():
        """What the page says and draws of the atoms and of the repair."""
        return [element(name).text for name in ("repaired-says", "dictionary-says", "errors-say", "patch-says")] + [
            run("return document.getElementById('errors').innerHTML"),
            run("return document.getElementById('steps').textContent"),
            run("return document.getElementById('dictionary').toDataURL()"),
            run("return document.getElementById('repaired').toDataURL()")]

    def cancel_learning(iterations, atoms):
        slide("iterations", iterations), slide("atoms", atoms)
        element("repair").click()
        there = until(lambda: f"of {iterations}" in element("dictionary-says").text and element("cancel").is_displayed())
        element("cancel").click()
        return there and until(lambda: said().startswith("Cancelled") and element("repair").is_enabled())

    before = shown()
    check("learning is cancelled", cancel_learning(30, 512))
    check("what was there before is still there", shown() == before and bits("dictionary.atoms") == alone["atoms"])
    slide("iterations", 3), slide("atoms", 256)

    slide("removed", 50)
    check("half is removed", until(lambda: "blue" in element("damaged-says").text))
    check("removed pixels do not count as noise", until(
        lambda: re.match(r"Ready: noise of sigma 25 added: 20\.\d dB; 50 % of the pixels removed\.", said())))
    check("nor below the picture", "the rest has PSNR 20." in element("damaged-says").text)
    after = shown()
    check("nothing stays of the picture before", after[:2] == ["repaired: not yet", "atoms: none yet"]
          and after[4:6] == ["", ""] and "Click a place" in after[3] and blank("repaired") and blank("dictionary"))
    check("cancelled before anything is learnt", cancel_learning(30, 512))
    check("there is nothing", shown() == after)
    slide("iterations", 3), slide("atoms", 256)
    element("repair").click()
    check("what is missing is filled in", until(lambda: said().startswith("Filled in: ") and "PSNR" in element("repaired-says").text))
    check("everywhere", run("return repaired.every(Number.isFinite)"))
    alone["filled"] = bits("repaired")

    slide("iterations", 30), slide("atoms", 512)
    element("repair").click()
    check("long work can be stopped", until(lambda: element("cancel").is_displayed()))
    element("cancel").click()
    check("it says so", until(lambda: said().startswith("Cancelled")))
    check("and goes on with other work", until(lambda: element("repair").is_enabled()))
    element("draw").click()
    check("such as another picture", until(lambda: said().startswith("Ready")))

    for removed, words, caption in ((50, "Ready: no noise added; 50 % of the pixels removed.", "missing; the rest has no noise"),
                                    (0, "Ready: no noise added.", "spoilt: no noise")):
        slide("removed", removed), slide("sigma", 0)
        check("no noise: said so", until(lambda: said().startswith(words)) and caption in element("damaged-says").text)
    slide("sigma", 25)
    until(lambda: said().startswith("Ready: noise of sigma 25"))

    wrong = pathlib.Path(work) / "wrong.png"
    wrong.write_text("this is no picture")
    element("picture-file").send_keys(str(wrong))
    check("a file that is no picture: a sentence", until(lambda: said() == "wrong.png: no picture that this browser can read"))

    header = pathlib.Path(work) / "a_cube.HDR"
    header.write_text("ENVI\n")
    element("picture-file").send_keys(str(header))
    check("the header of a cube: the other tab", until(
        lambda: said() == 'a_cube.HDR: this is the header of a cube; drop it with its data file on the tab "An image cube"'))

    # Colour becomes grey, and the page says why.
    for colour, words in (((200, 30, 30), True), ((90, 90, 90), False)):
        file = pathlib.Path(work) / f"plain_{colour[0]}.png"
        file.write_bytes(plain_png(40, 24, colour))
        element("picture-file").send_keys(str(file))
        check("a picture of one's own: its name", until(lambda: element("clean-says").text.startswith(file.name)))
        check("why it is grey, where it was coloured", ("In grey: " in element("clean-says").text) == words)
        until(lambda: said().startswith("Ready"))

    element("tab-cube").click()
    check("a scene", until(lambda: "160 x 120 pixels and 100 bands" in said()))
    for method, name in (("2", "MNF"), ("4", "FastICA"), ("16", "RX anomalies"), ("1", "PCA")):
        run("document.getElementById('method').value = arguments[0]", method)
        element("analyse").click()
        check(f"{name} of it", until(lambda: said().startswith(name + " of") and "ms" in said()))
        check(f"{name}: finite", run("return found.components.every(Number.isFinite)"))
    check("it says what was found", re.fullmatch(r"PCA of 160 x 120 x 100: 6 components in \d+ ms\.", said()))
    check("the components' picture can be saved", saved("colours")[:2] == (160, 120))
    check("so can a band, without the cursor", all(v[0] == v[1] == v[2] for v in zip(*[iter(saved("band")[2])] * 3)))
    check("eigenvalues fall", run("return found.eigenvalues.every((v, i, a) => i === 0 || v <= a[i - 1]) && found.eigenvalues.length > 50"))
    until(lambda: element("analyse").is_enabled())
    picture_of("cube")
    element("band").send_keys(Keys.ARROW_RIGHT)
    check("the keyboard moves the cursor", "81, 60" in element("spectrum-says").text)

    program = pathlib.Path("build/hypercube").resolve()
    subprocess.run([program, "synthesise", "small.hdr", "--samples", "40", "--lines", "30", "--bands", "20"], cwd=work, check=True,
                   stdout=subprocess.DEVNULL)
    element("cube-files").send_keys(f"{work}/small.hdr\n{work}/small.img")
    check("a cube of ENVI's", until(lambda: "40 x 30 pixels and 20 bands" in said()))
    (pathlib.Path(work) / "cut.hdr").write_bytes((pathlib.Path(work) / "small.hdr").read_bytes())
    (pathlib.Path(work) / "cut.img").write_bytes((pathlib.Path(work) / "small.img").read_bytes()[:1000])
    element("cube-files").send_keys(f"{work}/cut.hdr\n{work}/cut.img")
    check("a cube that is cut off: a sentence", until(lambda: "cut.img: it is truncated" in said()))
    def cube_of(name, samples, values):
        """A cube of doubles of one line, one band after another; the page opens it."""
        count = len(values) // samples
        (pathlib.Path(work) / f"{name}.hdr").write_text(
            f"ENVI\nsamples = {samples}\nlines = 1\nbands = {count}\nheader offset = 0\nfile type = ENVI Standard\n"
            "data type = 5\ninterleave = bsq\nbyte order = 0\n")
        (pathlib.Path(work) / f"{name}.img").write_bytes(struct.pack(f"<{len(values)}d", *values))
        element("cube-files").send_keys(f"{work}/{name}.hdr\n{work}/{name}.img")
        return until(lambda: f"A cube of {samples} x 1 pixels and {count} bands" in said() and element("analyse").is_enabled())

    nan = float("nan")
    for name, samples, values, sentence in (
            ("missing", 4, [nan] * 8, "no pixel of the cube is valid: all 4 x 1 x 2 values are missing"),
            ("single", 1, [1, 2, 3], "the cube has one valid pixel"),
            ("alone", 3, [nan, 1, nan, nan, 2, nan], "the cube has one valid pixel"),
            ("huge", 3, [1e200, 2e200, 3e200] * 2, "no value of the cube is within the range of float"),
            ("flat", 3, [nan, 1, 1, 2, 2, 2], "every band of the cube is the same everywhere")):
        check(f"a cube that is {name}: opened", cube_of(name, samples, values))
        element("analyse").click()
        check(f"a cube that is {name}: a sentence", until(lambda: said().startswith(sentence)))
    element("cube-files").send_keys(f"{work}/plain_90.png")
    check("a picture among cubes: the other tab", until(
        lambda: said() == 'plain_90.png: this is a picture; drop it on the tab "A picture"'))
    element("cube-files").send_keys(f"{work}/cut.hdr\n{wrong}")
    check("a header and something else: a sentence", until(lambda: "wrong.png" in said()))

    page.set_window_size(400, 900)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    check("on a telephone nothing is cut off", run("return document.documentElement.scrollWidth <= innerWidth"))
    picture_of("telephone_cube")
    element("tab-picture").click()
    check("nor of the picture", run("return document.documentElement.scrollWidth <= innerWidth"))
    picture_of("telephone_picture")
    page.get((folder / "index.html").as_uri())
    until(lambda: said().startswith("Ready"))
    alone["components"] = components()

    def console(name):
        log = [entry for entry in page.get_log("browser")]
        check(name + "".join(": " + entry["message"] for entry in log), not log)

    console("the console is empty")

    # Served with the headers: threads, and the same bits.
    serving = [sys.executable, "examples/playground/serve.py"]
    server = subprocess.Popen(serving + [str(folder), "0"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split()[0]
        page.set_window_size(1200, 1500)

        def serve(query):
            page.get(address + query)
            return until(lambda: said().startswith("Ready"))

        check("served, it starts", serve(""))
        processors = min(16, run("return navigator.hardwareConcurrency"))
        check("with a thread for each processor", element("build").text.endswith(f"; {plural(processors)}"))
        for threads in (2, 3, 5):
            serve(f"?threads={threads}")
            check(f"{threads} threads", element("build").text.endswith(f"; {threads} threads"))
            slide("iterations", 3)
            check("they learn and repair", learn())
            check("to the picture of denoise", floats("repaired") == pixels(f"{work}/out.pgm"))
            check("and to the atoms of one thread", {name: bits(name) for name in ("repaired", "dictionary.atoms")} ==
                  {"repaired": alone["repaired"], "dictionary.atoms": alone["atoms"]})
            check("they show the error of each iteration", page.find_elements(By.CSS_SELECTOR, "#errors svg"))
            slide("removed", 50)
            until(lambda: said().startswith("Ready:"))
            check("they fill in what one thread fills in", learn() and bits("repaired") == alone["filled"])
            slide("iterations", 30), slide("atoms", 512)
            element("repair").click()
            check("they can be stopped", until(lambda: element("cancel").is_displayed()))
            check("they tell of their progress", until(lambda: "of 30" in element("dictionary-says").text))
            element("cancel").click()
            check("they say so", until(lambda: said().startswith("Cancelled")))
            check("others go on, to the components of one thread", components() == alone["components"])
        check("a number of threads that cannot be", serve("?threads=-7") and element("build").text.endswith("; 1 thread"))
        check("nor one that is none", serve("?threads=many") and " thread" in element("build").text)
        console("the console is empty of threads, too")
        for arguments in ([], [work], [str(folder), "70000"], [str(folder), "http"]):
            answer = subprocess.run(serving + arguments, stderr=subprocess.PIPE, text=True, timeout=60)
            check("the server refuses: " + answer.stderr.strip().replace(work, "FOLDER"),
                  answer.returncode == 1 and answer.stderr.count("\n") == 1)

        # How much sooner: in turn, the shortest of each, of the clock and of the processor's time of the busiest thread, which
        # is what the clock says where no other program has the processors.
        shortest = {1: (1e9, 1e9), processors: (1e9, 1e9)}
        for _ in range(3):
            for threads in shortest:
                serve(f"?threads={threads}")
                before = processor_times()
                learn()
                quality = re.search("20.2 -> [0-9.]+ dB", said())
                check("README says its quality", quality and f"Denoised: {quality.group()} in " in
                      pathlib.Path("examples/playground/README.md").read_text(encoding="utf-8"))
                took = max((ms - before.get(thread, 0) for thread, ms in processor_times().items()), default=0)
                shortest[threads] = tuple(map(min, shortest[threads], (run("return dictionary.milliseconds"), took)))

        # Where there is no shared memory after all, it is one thread.
        page.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
            const There = Blob;
            Blob = function (parts, how) {
                return new There(["{ const There = WebAssembly.Memory; WebAssembly.Memory = function (how) {"
                    + " if (how.shared) throw new RangeError('no shared memory'); return new There(how); } }", ...parts], how);
            };"""})
        check("without shared memory it starts", serve("?threads=2") and element("build").text.endswith("; 1 thread"))
        check("and learns", learn())
        for threads, (ms, took) in shortest.items():
            print(f"ten iterations, {plural(threads)}: {ms:.0f} ms, the busiest {took:.0f} ms of a processor")
    finally:
        server.terminate()
        server.wait()
    page.quit()

print(f"test-playground: {passed} passed, {failed} failed")
sys.exit(failed > 0)
