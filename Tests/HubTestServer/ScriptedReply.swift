/// What a ``ScriptedHTTPServer`` does with one request.
package struct ScriptedReply: Sendable {
    enum Act: Sendable {
        case whole(status: Int, headers: [(String, String)], body: [UInt8])
        case stream(status: Int, headers: [(String, String)], @Sendable (ReplyWriter) -> Void)
        case raw([UInt8])
        case never
        case hangUp
    }

    var act: Act
    var cutAfter: Int?
    var gate: Gate?

    private init(_ act: Act) {
        self.act = act
    }

    /// A complete reply with `Content-Length`; the connection is kept.
    package static func status(
        _ status: Int,
        headers: [(String, String)] = [],
        body: [UInt8] = []
    ) -> ScriptedReply {
        ScriptedReply(.whole(status: status, headers: headers, body: body))
    }

    package static func status(
        _ status: Int,
        headers: [(String, String)] = [],
        body: String
    ) -> ScriptedReply {
        .status(status, headers: headers, body: Array(body.utf8))
    }

    package static func redirect(_ status: Int = 302, to location: String) -> ScriptedReply {
        .status(status, headers: [("Location", location)], body: "moved")
    }

    /// A chunked reply that `body` writes, on the connection's own thread; it ends properly when `body` returns, unless
    /// the writer was told to cut.
    package static func stream(
        status: Int = 200,
        headers: [(String, String)] = [],
        _ body: @escaping @Sendable (ReplyWriter) -> Void
    ) -> ScriptedReply {
        ScriptedReply(.stream(status: status, headers: headers, body))
    }

    /// A chunked reply that the test writes, from outside, as it goes along.
    package static func stream(
        status: Int = 200,
        headers: [(String, String)] = [],
        _ stream: ScriptedStream
    ) -> ScriptedReply {
        .stream(status: status, headers: headers) { stream.serve($0) }
    }

    /// Just these bytes, then the end of the connection.
    package static func raw(_ text: String) -> ScriptedReply {
        ScriptedReply(.raw(Array(text.utf8)))
    }

    package static func raw(_ bytes: [UInt8]) -> ScriptedReply {
        ScriptedReply(.raw(bytes))
    }

    /// No answer until the client gives up.
    package static let never = ScriptedReply(.never)

    /// The connection ends without an answer.
    package static let hangUp = ScriptedReply(.hangUp)

    /// Announces the whole body, sends so many bytes of it and ends the connection.
    package func cut(afterBytes count: Int) -> ScriptedReply {
        var reply = self
        reply.cutAfter = count
        return reply
    }

    /// Answers when the gate is open.
    package func held(by gate: Gate) -> ScriptedReply {
        var reply = self
        reply.gate = gate
        return reply
    }
}
