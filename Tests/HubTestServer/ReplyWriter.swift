import Synchronization

/// Writes the chunked body of one reply.
///
/// Calls block while the client does not read.
package final class ReplyWriter: Sendable {
    let connection: Connection
    private let hasCut = Mutex(false)

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// - Returns: `false` once the client has gone.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        guard !bytes.isEmpty else { return true }
        let size = String(bytes.count, radix: 16)
        return connection.write(Array("\(size)\r\n".utf8) + bytes + Array("\r\n".utf8))
    }

    @discardableResult
    package func write(_ text: String) -> Bool {
        write(Array(text.utf8))
    }

    /// Blocks until the client closes the connection.
    package func waitUntilClientCloses() {
        _ = connection.waitForClose()
    }

    /// Ends the connection without the end of the body.
    package func cut() {
        hasCut.withLock { $0 = true }
        connection.shutDown()
    }

    var isCut: Bool { hasCut.withLock { $0 } }
}
