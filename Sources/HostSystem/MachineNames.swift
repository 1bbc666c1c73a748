import Dispatch
import Glibc
import Synchronization

/// The names of this machine.
package enum MachineNames {
    /// Returns the host name, and the full name by the system's look-up, if they are known and differ.
    ///
    /// A look-up may ask a name server that does not reply; it ends after `patience`.
    package static func all(patience: Duration = .seconds(2)) -> [String] {
        guard let name = host else { return [] }
        let found = Found()
        let isStarted: Void? = try? BackgroundThread.start {
            found.name.withLock { $0 = fullName(of: name) }
            found.isReady.signal()
        }
        guard isStarted != nil else { return [name] }
        let (seconds, attoseconds) = patience.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        _ = found.isReady.wait(timeout: .now() + .nanoseconds(nanoseconds))
        return [name] + [found.name.withLock { $0 }].compactMap { $0 == name ? nil : $0 }
    }

    /// The host name.
    package static var host: String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return name.isEmpty ? nil : name
    }

    private final class Found: Sendable {
        let name = Mutex<String?>(nil)
        let isReady = DispatchSemaphore(value: 0)
    }

    private static func fullName(of name: String) -> String? {
        var hints = addrinfo()
        hints.ai_flags = AI_CANONNAME
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0, let list else { return nil }
        defer { freeaddrinfo(list) }
        return list.pointee.ai_canonname.map { String(cString: $0) }
    }
}
