import Glibc
import Synchronization

/// A reply's body in a test's hand: what it sends goes out at once, and it can wait for the client to come and go.
///
/// For one reply at a time; each client that comes continues where the queue stands.
package final class ScriptedStream: Sendable {
    private enum Step: Sendable {
        case write([UInt8])
        case end
        case cut
    }

    private let steps = Mutex<[Step]>([])
    private let ends: (read: Int32, write: Int32)
    private let arrivals = Counter<Void>()
    private let departures = Counter<Void>()

    package init() {
        var pair: [Int32] = [-1, -1]
        _ = pipe(&pair)
        self.ends = (pair[0], pair[1])
    }

    deinit {
        close(ends.read)
        close(ends.write)
    }

    package func send(_ bytes: [UInt8]) { post(.write(bytes)) }

    package func send(_ text: String) { send(Array(text.utf8)) }

    /// The proper end of the body.
    package func end() { post(.end) }

    /// The end of the connection without the end of the body.
    package func cut() { post(.cut) }

    /// Returns when so many clients in all have come.
    package func connected(times count: Int = 1) async { _ = await arrivals.elements(atLeast: count) }

    /// Returns when so many clients in all have gone, or were sent away.
    package func disconnected(times count: Int = 1) async { _ = await departures.elements(atLeast: count) }

    func serve(_ writer: ReplyWriter) {
        arrivals.append(())
        defer { departures.append(()) }
        while !writer.connection.waitForClose(orWake: ends.read) {
            var signal: UInt8 = 0
            guard read(ends.read, &signal, 1) == 1 else { return }
            let step = steps.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            switch step {
            case .write(let bytes): guard writer.write(bytes) else { return }
            case .cut: return writer.cut()
            case .end, nil: return
            }
        }
    }

    private func post(_ step: Step) {
        steps.withLock { $0.append(step) }
        var signal: UInt8 = 1
        _ = write(ends.write, &signal, 1)
    }
}
