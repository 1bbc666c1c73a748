import HTTPTypes
import HubProtocol
import HubRouting
import HubStreams
package import Hummingbird
import NIOCore

/// An admitted request for the stream of an installation, before the stream is open.
package struct StreamOpening: Sendable {
    let operations: HubOperations
    let installation: InstallationID
    /// The secret of the installation that the request presents.
    let channel: PushChannelSecret?
    /// The position after which the stream continues, as the client states it.
    let lastEventID: String?
    /// True if heartbeats are events, for pages.
    let hasHeartbeatEvents: Bool
    /// True if the stream ends with its first events or heartbeat.
    var isPoll = false

    /// The headers of a response with a stream.
    static let headers: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store", .accelBuffering: "no",
    ]

    private var hub: Hub { operations.hub }

    /// Takes a place in the quota of streams.
    ///
    /// - Throws: 401 without Listen, 429 for too many streams.
    private func takePlace() throws(ProtocolError) -> StreamPlace? {
        try operations.need(.listen)
        return try operations.directory.streamQuota.place(for: operations.grant, operations.quotaKey)
    }

    /// Opens the stream on a connection, whose event loop must be the current one.
    ///
    /// A refusal by the hub's machine goes to the output.
    ///
    /// - Throws: The refusals of quotas; 404 if the hub was deleted.
    func open(_ output: ChannelOutput, on channel: any Channel) throws(ProtocolError) {
        let place = try takePlace()
        let session = try operations.directory.loop(of: channel.eventLoop, for: hub)
            .open(output, place: place, hasHeartbeatEvents: hasHeartbeatEvents)
        output.serve(session)
        hub.attach(session, self)
    }

    /// Opens the stream as the body of a response.
    ///
    /// - Throws: The refusals of quotas and of the hub's machine.
    func openBody() async throws -> (output: BodyOutput, session: StreamSession) {
        let place = try takePlace()
        let output = BodyOutput()
        let loop = try operations.directory.anyLoop(for: hub)
        let session = try await loop.eventLoop.submit {
            let session = loop.open(output, place: place, isPoll: isPoll, hasHeartbeatEvents: hasHeartbeatEvents)
            // From here on each keeps the other alive until the output ends or refuses.
            output.serve(session)
            return session
        }.get()
        hub.attach(session, self)
        try await output.opened()
        return (output, session)
    }

    /// The response whose body is the stream.
    ///
    /// - Throws: The refusals of quotas and of the hub's machine.
    package func response() async throws -> Response {
        let output = try await openBody().output
        return Response(
            status: .ok,
            headers: Self.headers,
            body: .init { writer in
                defer { output.end() }
                while let bytes = await output.next() { try await writer.write(bytes) }
                try await writer.finish(nil)
            }
        )
    }
}

extension HTTPField.Name {
    fileprivate static let accelBuffering = HTTPField.Name("X-Accel-Buffering") ?? .cacheControl
}

extension Hub {
    /// Asks the hub's machine to attach a session at its place in the log; the answer goes to the session's output.
    func attach(_ session: StreamSession, _ opening: StreamOpening) {
        let request = StreamRequest(
            id: session.id,
            installation: opening.installation,
            grant: opening.operations.grant,
            channel: opening.channel,
            lastEventID: opening.lastEventID,
            at: configuration.timestamp,
            stamp: others?.stamp(at: configuration.timestamp) ?? 0
        )
        writer.attach(request, to: record.id)
    }
}
