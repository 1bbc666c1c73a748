import Glibc

/// An open file descriptor that is closed once, at the latest when it is let go.
///
/// `@unchecked Sendable`: the number changes only in ``close()``, which callers do not race with use.
final class Descriptor: @unchecked Sendable {
    private(set) var number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close()
    }

    func close() {
        if number >= 0 { _ = Glibc.close(number) }
        number = -1
    }

    /// - Throws: With the attempt "cannot open".
    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o600) throws(HostError) -> Descriptor {
        while true {
            let number = Glibc.open(path, flags | O_CLOEXEC, mode)
            if number >= 0 { return Descriptor(number) }
            if errno != EINTR { throw HostError("cannot open", path, code: errno) }
        }
    }
}
