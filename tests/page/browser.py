# SPDX-License-Identifier: MIT
"""A headless Chromium for tests of the page: opens a file, sees its console and its requests."""

import base64
import json
import os
import shutil

import harness

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = Keys = None

WAIT = 60               # s
TALLEST = 2400          # pixels of a picture
OWN = ("file:", "data:", "blob:", "about:", "chrome:")      # addresses that leave no machine
OPTIONS = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run", "disable-sync",
           "disable-background-networking", "disable-component-update", "disable-extensions", "lang=en-US",
           "force-color-profile=srgb")
FRAMES = """const done = arguments[0];
requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));"""

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe.js"), encoding="utf-8") as probe:
    PROBE = probe.read()


def why_not():
    """Why there is no browser for tests here; None: there is one."""
    if webdriver is None:
        return "python3-selenium is not installed"
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


class Browser:
    """As a context. Its state is new; it ends with the context."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        options = Options()
        options.binary_location = shutil.which("chromium")
        for word in (*OPTIONS, f"user-data-dir={os.path.join(self.folder, 'chromium')}"):
            options.add_argument("--" + word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_script_timeout(WAIT)
        self.console, self.requests = [], []
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def command(self, name, **values):
        return self.driver.execute_cdp_cmd(name, values)

    def shape(self, width=1280, height=900, dark=False):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=False)
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path, address=""):
        """Waits until the page has drawn itself. `address`: what comes behind the file's name."""
        self.driver.get("about:blank")
        self.driver.get(f"file://{path}{address}")
        ready = "return document.documentElement.dataset.ready"
        if not harness.until(lambda: self.run(ready), WAIT) or self.run(ready) != "yes":
            raise harness.Problem(f"{path}: not ready: {self.run(ready)}: {self.look()}")
        self.run(PROBE)

    def run(self, script, *values):
        try:
            return self.driver.execute_script(script, *values)
        except WebDriverException as e:
            raise harness.Problem(str(e)) from e

    def ask(self, name, *values):
        """A function of probe.js."""
        return self.run(f"return probe.{name}(...arguments)", *values)

    def ask_later(self, name, *values):
        """One that calls back, its last argument."""
        return self.driver.execute_async_script(f"probe.{name}(...arguments)", *values)

    def model(self, member):
        return self.run(f"return msrecPage.model.{member}")

    def state(self):
        return self.run("return msrecPage.state.get()")

    def set(self, **state):
        """Changes the page's state as a click would."""
        self.run("msrecPage.state.set(arguments[0])", state)
        self.settle()

    def settle(self):
        """Waits until what was asked for is drawn: two frames."""
        self.driver.execute_async_script(FRAMES)

    def complete(self):
        """Waits until tables have all that is out of sight, too."""
        busy = "return document.querySelector('#panel [aria-busy=true]') !== null"
        if not harness.until(lambda: not self.run(busy), WAIT):
            raise harness.Problem("a table stays busy")

    def keys(self, *keys):
        """Presses keys where the focus is."""
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()
        self.settle()

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def shot(self, path):
        """A picture of the page, as far as it goes in TALLEST pixels."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, TALLEST), "scale": 1}
        done = self.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(done["data"]))

    def print(self, path, **options):
        """The page as it is printed: PDF, of A4 unless `options` of Page.printToPDF say otherwise."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.driver.set_script_timeout(WAIT)
        done = self.command("Page.printToPDF", **{"paperWidth": 8.27, "paperHeight": 11.69, **options})
        with open(path, "wb") as file:
            file.write(base64.b64decode(done["data"]))

    def look(self):
        """Reads the browser's logs: lines of the console, and addresses that were asked for."""
        self.console += [f"{line['level']}: {line['message']}" for line in self.driver.get_log("browser")]
        for line in self.driver.get_log("performance"):
            message = json.loads(line["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            elif message["method"] == "Network.webSocketCreated":
                self.requests.append(message["params"]["url"])
        return self.console

    def check(self):
        """Fails if the page wrote to the console or asked for anything outside of itself."""
        self.look()
        away = [url[:200] for url in self.requests if not url.startswith(OWN)]
        if self.console or away:
            raise harness.Problem(f"console: {self.console[:5]}; requests: {away[:5]}")
        if not self.requests:
            raise harness.Problem("the browser's log of requests is empty: it would show none")
