import Glibc
import Synchronization

/// An HTTP/1.1 server on a free loopback port that does what a test says, misbehaviour included.
///
/// ```swift
/// let server = try ScriptedHTTPServer { request in
///     request.path == "/feed" ? .status(200, body: "<rss/>") : .status(404)
/// }
/// let reply = try await client.send(OutboundRequest(url: server.url("/feed"), addresses: .any))
/// ```
///
/// Each connection has a thread, so scripts may block (``Gate/blockUntilOpen()``). It stops when let go.
package final class ScriptedHTTPServer: Sendable {
    package struct StartError: Error {
        package let reason: String
    }

    package let port: Int
    private let core: Core

    /// Calls `answer` for each request, on its connection's thread.
    package init(_ answer: @escaping @Sendable (RecordedRequest) -> ScriptedReply) throws(StartError) {
        let (listener, port) = try Self.listen()
        self.port = port
        self.core = Core(listener: listener, answer: answer)
        let core = core
        BlockingThread.start { core.acceptAll() }
    }

    /// Answers the first request with the first reply and so on, and the last one from then on.
    package convenience init(replies: [ScriptedReply]) throws(StartError) {
        let rest = Mutex(replies[...])
        try self.init { _ in
            rest.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? .status(404) }
        }
    }

    deinit {
        close()
    }

    package var baseURL: String { "http://127.0.0.1:\(port)" }

    /// The address of a path, which begins with a slash.
    package func url(_ path: String) -> String { baseURL + path }

    /// All requests so far.
    package var requests: [RecordedRequest] { core.requests.elements }

    /// Returns when so many requests in all have arrived, before they are answered.
    package func requests(atLeast count: Int) async -> [RecordedRequest] {
        await core.requests.elements(atLeast: count)
    }

    /// Returns when clients have closed so many connections in all.
    package func closedConnections(atLeast count: Int) async {
        _ = await core.closings.elements(atLeast: count)
    }

    /// Ends all connections and frees the port.
    package func close() {
        core.stop()
    }

    private static func listen() throws(StartError) -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && Glibc.listen(descriptor, 128) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard code else { throw StartError(reason: String(cString: strerror(errno))) }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}

/// What the threads share; it outlives the server until they have ended.
private final class Core: Sendable {
    let requests = Counter<RecordedRequest>()
    let closings = Counter<Void>()
    private let listener: Int32
    private let answer: @Sendable (RecordedRequest) -> ScriptedReply
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        var nextNumber = 0
        var connections: [Int: Connection] = [:]
    }

    init(listener: Int32, answer: @escaping @Sendable (RecordedRequest) -> ScriptedReply) {
        self.listener = listener
        self.answer = answer
    }

    deinit {
        close(listener)
    }

    func acceptAll() {
        while true {
            let descriptor = accept(listener, nil, nil)
            if descriptor < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard descriptor >= 0 else { return }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let connection = state.withLock { state -> Connection? in
                let connection = Connection(descriptor, number: state.nextNumber)
                guard !state.isStopped else { return nil }
                state.nextNumber += 1
                state.connections[connection.number] = connection
                return connection
            }
            guard let connection else { return }
            BlockingThread.start { self.serve(connection) }
        }
    }

    func stop() {
        let connections = state.withLock { state in
            state.isStopped = true
            return Array(state.connections.values)
        }
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in connections { connection.shutDown() }
    }

    private func serve(_ connection: Connection) {
        while let request = connection.readRequest() {
            requests.append(request)
            let reply = answer(request)
            reply.gate?.blockUntilOpen()
            guard perform(reply, for: request, on: connection) else { break }
        }
        connection.shutDown()
        state.withLock { $0.connections[connection.number] = nil }
        closings.append(())
    }

    /// - Returns: Whether the connection is to be kept.
    private func perform(_ reply: ScriptedReply, for request: RecordedRequest, on connection: Connection) -> Bool {
        switch reply.act {
        case .whole(let status, let headers, let body):
            var bytes = Array(head(status, headers + [("Content-Length", "\(body.count)")]).utf8)
            if request.method != "HEAD" { bytes += body.prefix(reply.cutAfter ?? body.count) }
            return connection.write(bytes) && reply.cutAfter == nil
        case .stream(let status, let headers, let body):
            guard connection.write(head(status, headers + [("Transfer-Encoding", "chunked")])) else { return false }
            let writer = ReplyWriter(connection)
            body(writer)
            return !writer.isCut && connection.write("0\r\n\r\n")
        case .raw(let bytes):
            _ = connection.write(bytes)
            return false
        case .never:
            _ = connection.waitForClose()
            return false
        case .hangUp:
            return false
        }
    }

    private func head(_ status: Int, _ headers: [(String, String)]) -> String {
        "HTTP/1.1 \(status) Scripted\r\n" + headers.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n"
    }
}
