import Glibc
import Synchronization

/// An open file descriptor that is closed once, at the latest when it is released.
final class Descriptor: Sendable {
    private let open: Atomic<Int32>

    /// The number; negative once the descriptor is closed.
    ///
    /// The system may reuse the number as soon as the descriptor is closed, even while another thread still uses it.
    var number: Int32 { open.load(ordering: .acquiring) }

    init(_ number: Int32) {
        open = Atomic(number)
    }

    deinit {
        close()
    }

    func close() {
        let number = open.exchange(-1, ordering: .acquiringAndReleasing)
        if number >= 0 { _ = Glibc.close(number) }
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
