import Glibc

/// One accepted socket, used by its own thread; blocking.
///
/// `@unchecked Sendable`: the descriptor never changes, and stays open until the thread lets go.
final class Connection: @unchecked Sendable {
    let descriptor: Int32
    let number: Int
    private var buffer: [UInt8] = []

    init(_ descriptor: Int32, number: Int) {
        self.descriptor = descriptor
        self.number = number
    }

    deinit {
        close(descriptor)
    }

    /// From another thread: makes every pending and later call fail.
    func shutDown() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    func write(_ text: String) -> Bool {
        write(Array(text.utf8))
    }

    /// - Returns: `nil` when the client has gone, or sends no HTTP.
    func readRequest() -> RecordedRequest? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = buffer.firstRange(of: end) {
                let head = Array(buffer[..<range.lowerBound])
                buffer.removeSubrange(..<range.upperBound)
                return readBody(head)
            }
            guard buffer.count < 1_048_576, fill() else { return nil }
        }
    }

    /// Blocks until the client closes its side, or `wake` becomes readable.
    ///
    /// - Returns: Whether the client has gone.
    func waitForClose(orWake wake: Int32 = -1) -> Bool {
        while true {
            var waits = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
            ]
            poll(&waits, 2, -1)
            if waits[0].revents != 0, !fill() { return true }
            if waits[1].revents != 0 { return false }
        }
    }

    private func readBody(_ head: [UInt8]) -> RecordedRequest? {
        var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")[...]
        let first = lines.popFirst()?.split(separator: " ") ?? []
        guard first.count == 3 else { return nil }
        let headers = lines.compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return (String(line[..<colon]), String(value))
        }
        let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        while buffer.count < length {
            guard fill() else { return nil }
        }
        let body = Array(buffer.prefix(length))
        buffer.removeFirst(length)
        return RecordedRequest(
            method: String(first[0]),
            target: String(first[1]),
            headers: headers,
            head: head,
            body: body,
            connection: number
        )
    }

    private func fill() -> Bool {
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &piece, piece.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            buffer.append(contentsOf: piece[..<count])
            return true
        }
    }
}
