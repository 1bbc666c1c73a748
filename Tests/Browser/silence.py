"""A proxy between browser and hub whose connections can fall silent, as after sleep or a change of networks."""

import socket
import threading


class Relay:
    """Passes connections to a port of this machine on; those that have fallen silent stay open and pass nothing."""

    def __init__(self, port):
        self.target, self.silent, self.open = port, set(), []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            pair = (client, server)
            self.open.append(pair)
            for source, sink in [pair, reversed(pair)]:
                threading.Thread(target=self.pass_on, args=(pair, source, sink), daemon=True).start()

    def pass_on(self, pair, source, sink):
        try:
            while data := source.recv(65_536):
                # The kernel has acknowledged the bytes: keepalive finds nothing.
                if pair not in self.silent:
                    sink.sendall(data)
            if pair not in self.silent:
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def fall_silent(self):
        """Silences the connections that are open now; later ones work."""
        self.silent.update(self.open)

    def close(self):
        self.listener.close()
        for pair in self.open:
            for end in pair:
                end.close()
