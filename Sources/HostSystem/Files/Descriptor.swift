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
        let number = uninterrupted { Glibc.open(path, flags | O_CLOEXEC, mode) }
        guard number >= 0 else { throw HostError("cannot open", path, code: errno) }
        return Descriptor(number)
    }
}

/// Makes a system call again for as long as signals interrupt it.
///
/// - Returns: The result of the last call; if it is negative, `errno` has the reason.
func uninterrupted<Number: BinaryInteger>(_ call: () -> Number) -> Number {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
