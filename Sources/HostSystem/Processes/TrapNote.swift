import Glibc

/// A number that a crashing program leaves in its lock file: the subject of the crashing thread's work.
///
/// Only a crash leaves one. A program that is killed, loses power, or runs out of stack leaves nothing.
package enum TrapNote {
    /// Signals that the kernel or the runtime sends to a thread for what that thread did.
    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT]

    /// `SI_USER`, which is a macro: a signal sent by a process, such as a service manager's watchdog.
    private static let sentByProcess: Int32 = 0

    /// Data for the handler, in memory that never moves: a handler must neither allocate nor lock.
    ///
    /// This and ``former`` are written when the handlers are installed, and only read after that.
    nonisolated(unsafe) private static let descriptor = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
    /// The previous action of each signal, by its number.
    nonisolated(unsafe) private static let former = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
    /// The number of each thread's current work, in libc's thread-specific storage.
    private static let subject: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Runs work of this thread under a number above 0.
    package static func naming<Value>(_ number: Int64, _ work: () throws -> Value) rethrows -> Value {
        guard let subject else { return try work() }
        pthread_setspecific(subject, UnsafeRawPointer(bitPattern: Int(number)))
        defer { pthread_setspecific(subject, nil) }
        return try work()
    }

    /// Returns the number that the last holder of a lock left, and removes it.
    ///
    /// - Returns: `nil` if that program ended in another way, or its work had no number.
    package static func take(from lock: FileLock) -> Int64? {
        lock.withDescriptor { descriptor in
            var number: Int64 = 0
            let count = pread(descriptor, &number, MemoryLayout<Int64>.size, 0)
            guard ftruncate(descriptor, 0) == 0, count == MemoryLayout<Int64>.size, number > 0 else { return nil }
            return number
        } ?? nil
    }

    /// Makes a crash of this process leave its number in the file of a lock.
    package static func leave(in lock: FileLock) {
        guard subject != nil, let own = lock.withDescriptor({ fcntl($0, F_DUPFD_CLOEXEC, 3) }), own >= 0 else { return }
        descriptor.initialize(to: own)
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { signal, info, _ in
            TrapNote.write(signal, isFromOutside: info?.pointee.si_code == TrapNote.sentByProcess)
        }
        action.sa_flags = SA_SIGINFO | SA_ONSTACK
        for signal in signals { sigaction(signal, &action, former + Int(signal)) }
    }

    /// Writes this thread's number, and then restores the signal's original effect.
    ///
    /// It calls only functions that a handler may call. The signal waits until the handler has returned.
    private static func write(_ signal: Int32, isFromOutside: Bool) {
        sigaction(signal, former + Int(signal), nil)
        if !isFromOutside, let subject, let pointer = pthread_getspecific(subject) {
            var number = Int64(Int(bitPattern: pointer))
            pwrite(descriptor.pointee, &number, MemoryLayout<Int64>.size, 0)
        }
        raise(signal)
    }
}
