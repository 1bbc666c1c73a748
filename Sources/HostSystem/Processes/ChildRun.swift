import Glibc

/// Feeds, watches and reaps one child process, on a separate thread.
final class ChildRun {
    private let child: ChildProcess
    private let control: Descriptor
    private let clock = ContinuousClock()
    private var input: [UInt8].SubSequence
    private var output = Capture()
    private var errors = Capture()
    private var interruption: ChildProcess.Interruption?
    private var deadline: ContinuousClock.Instant
    private var hasSentTerm = false

    private struct Capture {
        var bytes: [UInt8] = []
        var isTruncated = false
        var end: Descriptor?
    }

    init(_ child: ChildProcess, control: Descriptor) {
        self.child = child
        self.control = control
        self.input = Array(child.input.utf8)[...]
        self.deadline = clock.now.advanced(by: child.timeout)
    }

    func result() -> Result<ChildProcess.Outcome, HostError> {
        do throws(HostError) {
            return .success(try run())
        } catch {
            return .failure(error)
        }
    }

    private func run() throws(HostError) -> ChildProcess.Outcome {
        let inputPipe = try Pipe()
        let exitPipe = try Pipe()
        try inputPipe.writeEnd.makeNonBlocking()
        let process = try spawn(input: inputPipe.readEnd)
        inputPipe.readEnd.close()
        do throws(HostError) {
            let writeEnd = exitPipe.writeEnd
            try BackgroundThread.start {
                Self.waitForExit(of: process)
                writeEnd.close()
            }
        } catch {
            // Without a watcher the program cannot be limited.
            kill(-process, SIGKILL)
            _ = Self.reap(process)
            throw error
        }
        pump(process, inputPipe.writeEnd, exit: exitPipe.readEnd)
        if interruption != nil { kill(-process, SIGKILL) }
        drain()
        return ChildProcess.Outcome(
            ending: Self.reap(process),
            interruption: interruption,
            standardOutput: String(decoding: output.bytes, as: UTF8.self),
            standardError: String(decoding: errors.bytes, as: UTF8.self),
            isOutputTruncated: output.isTruncated || errors.isTruncated
        )
    }

    private func spawn(input: Descriptor) throws(HostError) -> pid_t {
        guard child.output == .capture else {
            return try ChildSpawn(child, input: input, output: nil, errors: nil).process
        }
        let outputPipe = try Pipe()
        let errorPipe = try Pipe()
        try outputPipe.readEnd.makeNonBlocking()
        try errorPipe.readEnd.makeNonBlocking()
        let spawned = try ChildSpawn(child, input: input, output: outputPipe.writeEnd, errors: errorPipe.writeEnd)
        outputPipe.writeEnd.close()
        errorPipe.writeEnd.close()
        output.end = outputPipe.readEnd
        errors.end = errorPipe.readEnd
        return spawned.process
    }

    /// Returns when the program itself has ended; it is not reaped yet, so that its number cannot be reused.
    private func pump(_ process: pid_t, _ inputEnd: Descriptor, exit: Descriptor) {
        if input.isEmpty { inputEnd.close() }
        while true {
            // poll ignores a negative descriptor.
            var waits = [
                pollfd(fd: exit.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: interruption == nil ? control.number : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: inputEnd.number, events: Int16(POLLOUT), revents: 0),
                pollfd(fd: output.end?.number ?? -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: errors.end?.number ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            poll(&waits, nfds_t(waits.count), Int32(remainingMilliseconds()))
            if waits[0].revents != 0 { return }
            if waits[1].revents != 0 { interrupt(process, .cancelled) }
            if waits[2].revents != 0 { feed(inputEnd) }
            if waits[3].revents != 0 { read(&output, limit: Self.pieceBytes) }
            if waits[4].revents != 0 { read(&errors, limit: Self.pieceBytes) }
            if deadline <= clock.now { interrupt(process, .timedOut) }
        }
    }

    private func interrupt(_ process: pid_t, _ reason: ChildProcess.Interruption) {
        interruption = interruption ?? reason
        kill(-process, hasSentTerm ? SIGKILL : SIGTERM)
        // A stopped program gets the signal when it continues.
        if !hasSentTerm { kill(-process, SIGCONT) }
        deadline = clock.now.advanced(by: hasSentTerm ? .seconds(1) : child.killGrace)
        hasSentTerm = true
    }

    private func feed(_ end: Descriptor) {
        let count = input.withUnsafeBytes { write(end.number, $0.baseAddress, $0.count) }
        if count > 0 { input = input.dropFirst(count) }
        let isBroken = count < 0 && errno != EAGAIN && errno != EINTR
        if input.isEmpty || isBroken { end.close() }
    }

    private func read(_ capture: inout Capture, limit: Int) {
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        var total = 0
        while total < limit, let end = capture.end {
            let count = uninterrupted { Glibc.read(end.number, &piece, piece.count) }
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else {
                capture.end = nil
                return
            }
            total += count
            let kept = min(count, child.maximumOutputBytes - capture.bytes.count)
            capture.bytes.append(contentsOf: piece[..<kept])
            if kept < count { capture.isTruncated = true }
        }
    }

    /// Reads what the program wrote before its end, and no more: programs that it left running may continue to write.
    private func drain() {
        read(&output, limit: Self.drainBytes)
        read(&errors, limit: Self.drainBytes)
        output.end = nil
        errors.end = nil
    }

    private func remainingMilliseconds() -> Int64 {
        let rest = max(.zero, deadline - clock.now)
        return min(rest.components.seconds, 3_600) * 1_000 + rest.components.attoseconds / 1_000_000_000_000_000 + 1
    }

    private static func waitForExit(of process: pid_t) {
        var facts = siginfo_t()
        while waitid(P_PID, id_t(process), &facts, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    }

    static func reap(_ process: pid_t) -> ChildProcess.Ending {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            // The child was reaped elsewhere, as happens if SIGCHLD is ignored.
            if errno != EINTR { return .exited(-1) }
        }
        let signal = status & 0x7F
        return signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    private static let pieceBytes = 16_384

    /// Maximum bytes: a pipe's capacity on Linux, and room for a pipe that a program enlarged.
    private static let drainBytes = 1_048_576
}
