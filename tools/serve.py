#!/usr/bin/env python3
"""Serves a folder on this machine only.

    serve.py FOLDER [--port N]

Port 8080, or a free one if it is taken; a port given with --port is used or
it is an error. Nothing is cached, so a rebuilt page shows on reload.
"""

import argparse
import errno
import functools
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    # Told here because the system's own table may lack or contradict them;
    # browsers insist on these two types for modules and for wasm streaming.
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
        ".json": "application/json",
    }

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")
        self.send_header("Access-Control-Allow-Origin", "*")  # pages of other origins may import the module and the elements
        super().end_headers()

    def log_request(self, *_):  # errors are still printed
        pass


def server(folder, port):
    handler = functools.partial(Handler, directory=folder)
    wanted = 8080 if port is None else port
    try:
        return http.server.ThreadingHTTPServer(("127.0.0.1", wanted), handler)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        if port is not None:
            sys.exit(f"port {port} is taken")
        return http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--port", type=int)
    arguments = parser.parse_args()
    with server(arguments.folder, arguments.port) as httpd:
        print(f"http://127.0.0.1:{httpd.server_address[1]}", flush=True)
        try:
            httpd.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
