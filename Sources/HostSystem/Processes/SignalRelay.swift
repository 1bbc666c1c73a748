import Glibc
import Synchronization

/// Passes signals from their handler, in which very little is allowed, through a pipe to ordinary code.
///
/// Dispatch's signal sources begin some time after they are created, and lose signals that arrive before.
final class SignalRelay: Sendable {
    static let shared = SignalRelay()

    private struct Listener {
        let numbers: [Int32]
        let report: @Sendable (Int32) -> Void
    }

    private struct State {
        var listeners: [Int: Listener] = [:]
        var nextListener = 0
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Starts to report the signals, and removes their other effects; none is lost after the return.
    ///
    /// If the system has no pipe left, the signals keep their effect, which ends the process as intended.
    ///
    /// - Returns: The argument for ``remove(_:)``.
    func add(_ numbers: [Int32], report: @escaping @Sendable (Int32) -> Void) -> Int {
        state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = Listener(numbers: numbers, report: report)
            if !state.isRunning { state.isRunning = start() }
            if state.isRunning {
                for number in numbers { signal(number, handleSignal) }
            }
            return state.nextListener
        }
    }

    func remove(_ listener: Int) {
        state.withLock { state in
            guard let removed = state.listeners.removeValue(forKey: listener) else { return }
            let wanted = Set(state.listeners.values.flatMap(\.numbers))
            for number in removed.numbers where !wanted.contains(number) { Self.restoreEffect(of: number) }
        }
    }

    /// Gives a signal the effect that it has when nobody listens to it.
    static func restoreEffect(of number: Int32) {
        let endsFirstProcess = getpid() == 1 && (number == SIGTERM || number == SIGINT)
        if endsFirstProcess { signal(number, handleEnd) } else { signal(number, SIG_DFL) }
    }

    private func start() -> Bool {
        guard let pipe = try? Pipe(), (try? pipe.writeEnd.makeNonBlocking()) != nil else { return false }
        let (readEnd, writeEnd) = (pipe.readEnd, pipe.writeEnd)
        do {
            // The thread keeps both ends for good: a handler may run at any time.
            try BackgroundThread.start {
                withExtendedLifetime(writeEnd) { self.relay(readEnd) }
            }
        } catch {
            return false
        }
        signalPipe.store(writeEnd.number, ordering: .releasing)
        return true
    }

    private func relay(_ end: Descriptor) {
        while true {
            var number: UInt8 = 0
            let count = uninterrupted { read(end.number, &number, 1) }
            guard count == 1 else { return }
            let reports = state.withLock { state in
                state.listeners.values.filter { $0.numbers.contains(Int32(number)) }.map(\.report)
            }
            for report in reports { report(Int32(number)) }
        }
    }
}

/// The pipe to which the handler writes; set before any handler is installed.
private let signalPipe = Atomic<Int32>(-1)

/// Ends the process like a signal's default effect, with the exit code that shells and container engines give it.
private func handleEnd(_ number: Int32) {
    _exit(128 + number)
}

/// Runs between any two instructions of any thread: it must not lock or allocate, and must keep errno.
private func handleSignal(_ number: Int32) {
    let saved = errno
    var byte = UInt8(truncatingIfNeeded: number)
    write(signalPipe.load(ordering: .acquiring), &byte, 1)
    errno = saved
}
