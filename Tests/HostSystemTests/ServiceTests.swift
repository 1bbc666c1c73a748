import Glibc
import HostSystem
import Testing

@Suite struct ServiceNotifierTests {
    /// A datagram socket as systemd has one.
    private final class Listener: Sendable {
        let descriptor: Int32

        init(_ name: [UInt8]) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let length = socklen_t(2 + name.count)
            let code = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            try #require(code == 0)
        }

        deinit {
            close(descriptor)
        }

        func next() -> String {
            var bytes = [UInt8](repeating: 0, count: 1_024)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }

    @Test(arguments: [false, true])
    func `notifications reach a socket by path and by abstract name`(_ isAbstract: Bool) throws {
        let scratch = try ScratchDirectory()
        let path = scratch.file("notify")
        let listener = try Listener(isAbstract ? [0] + Array(path.utf8) : Array(path.utf8))
        let notifier = try #require(
            ServiceNotifier(environment: ["NOTIFY_SOCKET": isAbstract ? "@\(path)" : path])
        )
        notifier.waiting("waiting for\nb")
        notifier.ready()
        notifier.watchdog()
        notifier.status("serving\nREADY=0")
        notifier.stopping()
        #expect(
            (0..<5).map { _ in listener.next() } == [
                "EXTEND_TIMEOUT_USEC=900000000\nSTATUS=waiting for b", "READY=1\nSTATUS=", "WATCHDOG=1",
                "STATUS=serving READY=0", "STOPPING=1",
            ]
        )
    }

    @Test(arguments: [nil, "", "relative", "/" + String(repeating: "a", count: 108)])
    func `without a usable socket there is nobody to tell`(_ socket: String?) {
        #expect(ServiceNotifier(environment: socket.map { ["NOTIFY_SOCKET": $0] } ?? [:]) == nil)
    }

    @Test(arguments: [
        (["WATCHDOG_USEC": "30000000"], Duration.seconds(15)),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "\(getpid())"], .seconds(15)),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"], nil), (["WATCHDOG_USEC": "x"], nil), ([:], nil),
    ])
    func `the watchdog is fed at half its time and only if it watches us`(
        _ extra: [String: String],
        _ expected: Duration?
    ) throws {
        let environment = extra.merging(["NOTIFY_SOCKET": "/run/notify"]) { $1 }
        #expect(try #require(ServiceNotifier(environment: environment)).watchdogInterval == expected)
    }

    @Test func `a listener that has gone does not matter`() throws {
        let notifier = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": "/nonexistent/newswire"]))
        notifier.ready()
    }
}

@Suite struct TerminationSignalsTests {
    @Test func `signals become values, each time one comes`() async {
        var signals = TerminationSignals.stream([SIGUSR1, SIGUSR2]).makeAsyncIterator()
        kill(getpid(), SIGUSR1)
        #expect(await signals.next() == SIGUSR1)
        kill(getpid(), SIGUSR2)
        #expect(await signals.next() == SIGUSR2)
        kill(getpid(), SIGUSR1)
        #expect(await signals.next() == SIGUSR1)
    }
}
