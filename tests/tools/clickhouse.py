# SPDX-License-Identifier: MIT
"""ClickHouse on loopback, in folders of its own: a cluster of shards with replicas, each a server."""

import os
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import harness

CONFIG = """<yandex>
<logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>{host}</listen_host>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>{folder}/users.xml</users_config>
<mark_cache_size>67108864</mark_cache_size><default_profile>default</default_profile>
<default_database>default</default_database>
<remote_servers><fleet>{shards}</fleet></remote_servers>
</yandex>
"""
USERS = """<yandex><profiles><default><max_threads>2</max_threads><skip_unavailable_shards>0</skip_unavailable_shards>
<load_balancing>in_order</load_balancing><connect_timeout_with_failover_ms>500</connect_timeout_with_failover_ms>
</default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></default></users><quotas><default/></quotas></yandex>
"""


def free_ports(n):
    """Ports that were free together a moment ago."""
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    def __init__(self, folder, http, tcp, host="127.0.0.1"):
        self.folder, self.http, self.tcp, self.host, self.process = folder, http, tcp, host, None

    def configure(self, shards):
        for name in ("data", "tmp"):
            os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        config = CONFIG.format(folder=self.folder, http=self.http, tcp=self.tcp, host=self.host, shards=shards)
        for name, text in (("config.xml", config), ("users.xml", USERS)):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    @property
    def url(self):
        return f"http://{self.host}:{self.http}"

    def start(self):
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen(
                ["clickhouse-server", f"--config-file={self.folder}/config.xml"], cwd=self.folder, stdout=output,
                stderr=output, stdin=subprocess.DEVNULL)
        if not harness.until(self.answers, 60):
            raise harness.Problem(f"{self.folder}: clickhouse-server does not answer")

    def answers(self):
        try:
            return self.ask("select 1") == "1\n"
        except OSError:
            return False

    def stop(self, hard=False):
        if self.process:
            (self.process.kill if hard else self.process.terminate)()
            self.process.wait()
            self.process = None

    def ask(self, query, **settings):
        url = self.url + "/?" + urllib.parse.urlencode(settings)
        try:
            with urllib.request.urlopen(url, query.encode(), timeout=300) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as e:
            raise harness.Problem(f"{query}: {e.read().decode(errors='replace')}") from e


class Cluster:
    """As a context: shards[i][j] is replica j of shard i."""

    def __init__(self, folder, shards, replicas):
        ports = free_ports(2 * shards * replicas)
        self.shards = []
        for i in range(shards):
            self.shards.append([])
            for j in range(replicas):
                self.shards[i].append(Server(os.path.join(folder, f"server{i}{j}"), ports.pop(), ports.pop()))

    def __enter__(self):
        text = "".join("<shard>" + "".join(f"<replica><host>127.0.0.1</host><port>{server.tcp}</port></replica>"
                                           for server in shard) + "</shard>" for shard in self.shards)
        try:
            for server in self.servers():
                server.configure(text)
                server.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in self.servers():
            server.stop(hard=True)

    def servers(self):
        return [server for shard in self.shards for server in shard]

    def options(self):
        """For fleet-load."""
        return ["--cluster=fleet", *("--shard=" + ",".join(server.url for server in shard) for shard in self.shards)]
