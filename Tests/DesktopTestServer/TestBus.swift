import Foundation
import Glibc
import Synchronization

/// A session bus of the test's own: the reference daemon, which can be killed and started again at the same address.
package final class TestBus: Sendable {
    package struct Missing: Error, CustomStringConvertible {
        package let description = "dbus-daemon does not start: apt-get install dbus-daemon"
    }

    package let address: String
    private let configuration: String
    private let process = Mutex<Process?>(nil)

    /// Starts it with its socket in `folder`, whose path must be short enough for one.
    ///
    /// - Throws: ``Missing``.
    package init(folder: String) async throws {
        address = "unix:path=\(folder)/bus"
        configuration = "\(folder)/bus.conf"
        let text = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>\(address)</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
              </policy>
            </busconfig>
            """
        try text.write(toFile: configuration, atomically: true, encoding: .utf8)
        try await start()
    }

    /// A test that fails leaves nothing behind.
    deinit {
        process.withLock { process in
            if let process, process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        }
    }

    /// What a program must have in its environment to find it.
    package var environment: [String: String] { ["DBUS_SESSION_BUS_ADDRESS": address] }

    /// Returns when it listens.
    package func start() async throws {
        let process = Process()
        let output = Foundation.Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["dbus-daemon", "--config-file=\(configuration)", "--nofork", "--print-address=1"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let line = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: output.fileHandleForReading.availableData) }
        }
        guard !line.isEmpty else { throw Missing() }
        self.process.withLock { $0 = process }
    }

    /// Ends it as a crash would, with all connections.
    package func kill() async {
        guard let process = process.withLock({ $0 }), process.isRunning else { return }
        await withCheckedContinuation { continuation in
            process.terminationHandler = { _ in continuation.resume() }
            Glibc.kill(process.processIdentifier, SIGKILL)
        }
        try? FileManager.default.removeItem(atPath: String(address.dropFirst("unix:path=".count)))
    }
}
