import Glibc
import Synchronization

/// A lock that the kernel releases when its holder ends, for any reason.
///
/// The file stays: removing it would let two holders lock two files of one name.
package final class FileLock: Sendable {
    private let descriptor: Mutex<Descriptor?>

    private init(_ descriptor: Descriptor) {
        self.descriptor = Mutex(descriptor)
    }

    deinit {
        close()
    }

    /// Takes the lock without waiting.
    ///
    /// - Returns: `nil` if it is held, by this process or another.
    package static func acquire(_ path: String) throws(HostError) -> FileLock? {
        while true {
            let descriptor = try Descriptor.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
            guard uninterrupted({ flock(descriptor.number, LOCK_EX | LOCK_NB) }) == 0 else {
                if errno == EWOULDBLOCK { return nil }
                throw HostError("cannot lock", path, code: errno)
            }
            // The file may have been removed or replaced between the two calls.
            var held = stat()
            var named = stat()
            guard fstat(descriptor.number, &held) == 0 else { throw HostError("cannot examine", path, code: errno) }
            guard stat(path, &named) == 0, held.st_ino == named.st_ino, held.st_dev == named.st_dev else { continue }
            guard futimens(descriptor.number, nil) == 0 else { throw HostError("cannot mark", path, code: errno) }
            return FileLock(descriptor)
        }
    }

    /// Returns the time since the lock was last taken, by the wall clock; never negative.
    ///
    /// - Returns: `nil` if there is no file. It does not show whether the lock is still held: call it after
    ///   ``acquire(_:)`` returned `nil`.
    package static func heldFor(_ path: String) -> Duration? {
        var facts = stat()
        var now = timespec()
        guard stat(path, &facts) == 0, clock_gettime(CLOCK_REALTIME, &now) == 0 else { return nil }
        let age =
            Duration.seconds(now.tv_sec - facts.st_mtim.tv_sec)
            + .nanoseconds(Int64(now.tv_nsec - facts.st_mtim.tv_nsec))
        return max(age, .zero)
    }

    /// Updates the lock's time, which shows that a holder that keeps it for long is still working.
    package func refresh() {
        descriptor.withLock { descriptor in
            if let descriptor { _ = futimens(descriptor.number, nil) }
        }
    }

    /// - Returns: `nil` if the lock was closed.
    func withDescriptor<Value: Sendable>(_ body: @Sendable (Int32) -> Value) -> Value? {
        descriptor.withLock { descriptor -> Value? in
            guard let number = descriptor?.number else { return nil }
            return body(number)
        }
    }

    package func close() {
        descriptor.withLock { descriptor in
            // Closing alone leaves the lock with a child that another thread has forked and that has not yet executed.
            if let descriptor { flock(descriptor.number, LOCK_UN) }
            descriptor = nil
        }
    }
}
