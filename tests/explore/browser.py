"""A headless Chromium, driven through two pipes by its DevTools protocol."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")


def found() -> str | None:
    """Return the path of a browser, if one is there."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page in a browser. ``browser.run("document.title")`` returns the value of an expression or of its promise."""

    def __init__(self, program: str, page: Path) -> None:
        self.work = tempfile.TemporaryDirectory(prefix="cutelite-", ignore_cleanup_errors=True)
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        # The browser reads from descriptor 3 and writes to 4, wherever the pipes are here.
        script = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
                 "--no-first-run", f"--user-data-dir={self.work.name}", "--window-size=1700,1000"]  # fmt: skip
        self.process = subprocess.Popen(
            ["bash", "-c", script, program, *flags],  # whose descriptors may have two digits, unlike those of dash
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self.count, self.rest = 0, b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable", self.session)
        self.call("Page.navigate", self.session, url=page.as_uri())
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)
        self.work.cleanup()

    def call(self, method: str, session: str | None = None, **params: Any) -> Any:
        self.count += 1
        message = {"id": self.count, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _message(self) -> Any:
        while b"\0" not in self.rest:
            part = os.read(self.read, 1 << 16)
            assert part, "the browser has gone"
            self.rest += part
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def run(self, expression: str) -> Any:
        result = self.call(
            "Runtime.evaluate", self.session, expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")
