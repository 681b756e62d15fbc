"""Headless Chromium for tests, over the WebDriver protocol; nothing but Python's own modules."""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

MISSING = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
# A proxy of the environment has no way to this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowDown": "\ue015", "ArrowRight": "\ue014"}


class BrowserError(Exception):
    """What chromedriver or the page answered."""


class Browser:
    """One window. Use as a context manager: both programs end with it."""

    def __init__(self, width=1280, height=900):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        environment = dict(os.environ, HOME=self._profile.name)
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, text=True)
        self._session = None
        try:
            self._base = "http://127.0.0.1:%d" % self._port()
            options = {
                "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                         "--hide-scrollbars", "--window-size=%d,%d" % (width, height),
                         "--user-data-dir=" + os.path.join(self._profile.name, "profile")]}
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
            self._session = answer["sessionId"]
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._session is not None:
            self._call("DELETE", "/session/" + self._session)
            self._session = None
        self._driver.terminate()
        self._driver.wait(timeout=30)
        self._driver.stdout.close()
        self._profile.cleanup()

    def _port(self):
        for line in self._driver.stdout:
            match = re.search(r"successfully on port (\d+)", line)
            if match:
                return int(match.group(1))
        raise BrowserError("chromedriver did not start")

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with _OPENER.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise BrowserError(json.load(error)["value"]["message"]) from error

    def _in_session(self, path, body):
        return self._call("POST", "/session/%s/%s" % (self._session, path), body)

    def open(self, path, fragment=""):
        self._in_session("url", {"url": "file://" + os.path.abspath(path) + fragment})

    def run(self, script, *arguments):
        """The value that the script, the body of a function, returns."""
        return self._in_session("execute/sync", {"script": script, "args": list(arguments)})

    def chrome(self, command, **parameters):
        """A command of the Chrome DevTools protocol."""
        return self._in_session("goog/cdp/execute", {"cmd": command, "params": parameters})

    def press(self, *keys):
        actions = []
        for key in keys:
            value = _KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._in_session("actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def click(self, selector):
        found = self._in_session("element", {"using": "css selector", "value": selector})
        self._in_session("element/%s/click" % found[_ELEMENT], {})

    def log(self):
        """Messages of the console since the last call."""
        return [entry["message"] for entry in self._in_session("se/log", {"type": "browser"})]

    def screenshot(self, path, whole=True):
        picture = self.chrome("Page.captureScreenshot", captureBeyondViewport=whole,
                              **({"clip": self._whole_page()} if whole else {}))
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(picture["data"]))

    def _whole_page(self):
        size = self.chrome("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
