#!/usr/bin/env python3
"""Serves the page to this machine with the two headers that let it compute with threads. Any server that sends them will do.

    python3 examples/playground/serve.py build/playground [PORT]
"""
import functools
import http.server
import os
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self):
        # Only a page that shares its process with no other page may share memory among its threads.
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()

    def log_message(self, *arguments):
        pass


def main():
    if len(sys.argv) not in (2, 3) or not sys.argv[-1].isdigit() and len(sys.argv) == 3:
        sys.exit("usage: serve.py FOLDER [PORT]")
    if not os.path.isfile(os.path.join(sys.argv[1], "index.html")):
        sys.exit(f"serve.py: {sys.argv[1]}: there is no index.html; make playground builds it")
    port = int(sys.argv[2]) if len(sys.argv) == 3 else 8000
    handler = functools.partial(Handler, directory=sys.argv[1])
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as trouble:
        sys.exit(f"serve.py: port {port}: {trouble}")
    with server:
        print(f"http://127.0.0.1:{server.server_address[1]}/index.html (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


main()
