import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStreams
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import WebEdge

/// Accepts stream requests that are the first on their connection.
struct StreamGate: Sendable {
    static let decoderName = "stream request decoder"

    let hubs: HubDirectory
    let applications: [MountedApplication]
    let edge: ServerEdge
    let crossOrigin: CrossOrigin

    /// True if a request line is `GET /{hub}/installations/{id}/stream`, in any case, or that of an application's
    /// stream.
    func isStreamRequest(_ line: some Collection<UInt8>) -> Bool {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 3, words[0].elementsEqual("GET".utf8), words[2].elementsEqual("HTTP/1.1".utf8) else {
            return false
        }
        let path = words[1].prefix { $0 != UInt8(ascii: "?") }
        return Self.isStream(path)
            || applications.contains { $0.streams(at: Substring(decoding: path, as: UTF8.self)) != nil }
    }

    private static func isStream(_ path: some Collection<UInt8>) -> Bool {
        let segments = path.split(separator: UInt8(ascii: "/"))
        guard segments.count == 4 else { return false }
        return String(decoding: segments[1], as: UTF8.self).lowercased() == "installations"
            && String(decoding: segments[3], as: UTF8.self).lowercased() == "stream"
    }

    /// Checks the request and opens the stream; called on the connection's event loop.
    ///
    /// An application checks the requests for its own streams.
    func serve(_ head: HTTPRequestHead, on channel: any Channel, output: ChannelOutput) {
        let path = head.uri.prefix { $0 != "?" }
        guard let streams = applications.lazy.compactMap({ $0.streams(at: path) }).first else {
            return open(head, on: channel, output: output)
        }
        let logger = edge.logger
        let answer = channel.eventLoop.makeFutureWithTask {
            let request = Request(
                head: try HTTPRequest(head, secure: false, splitCookie: false),
                body: RequestBody(buffer: ByteBuffer())
            )
            switch await streams.answer(request, channel, logger) {
            case .stream(let opening): return Answer.stream(opening)
            case .response(let response):
                let body = ReplyCollector(limit: Self.maximumRefusal)
                try await response.body.write(body)
                return .response(response.head, body.bytes)
            }
        }
        answer.assumeIsolated().whenComplete { result in
            // If the client has left, a session would count as a stream until it stalls.
            guard channel.isActive else { return }
            do {
                switch try result.get() {
                case .response(let head, let body): output.end(whole: head, body)
                case .stream(let opening):
                    edge.connections.prove(channel)
                    output.fields = crossOrigin.lines(for: nil)
                    try opening.open(output, on: channel)
                }
            } catch {
                output.refuse(error as? ProtocolError ?? .badRequest("The request is not valid HTTP/1.1."))
            }
        }
    }

    /// An application's answer, with the whole body of a response.
    private enum Answer: Sendable {
        case stream(StreamOpening)
        case response(HTTPResponse, ByteBuffer)
    }

    /// The largest page that says why there is no stream, in bytes.
    private static let maximumRefusal = 1 << 20

    private func open(_ head: HTTPRequestHead, on channel: any Channel, output: ChannelOutput) {
        // As the router joins several.
        let origins = head.headers["Origin"]
        output.fields = crossOrigin.lines(for: origins.isEmpty ? nil : origins.joined(separator: ", "))
        do throws(ProtocolError) {
            let path = String(head.uri.prefix { $0 != "?" })
            let query = FormFields(String(head.uri.dropFirst(path.count + 1)), ignoresCase: true)
            let segments = path.split(separator: "/")
            guard segments.count == 4 else { throw ProtocolError.notFound("There is nothing at this address.") }
            let hub = try hubs.hub(named: String(segments[0]))
            let grant = try hub.grant(
                authorization: head.headers.first(name: "Authorization"),
                path: path,
                needs: .listen
            )
            if grant.rights.contains(.manage) { output.fields = crossOrigin.lines(for: nil) }
            edge.connections.prove(channel)
            let source = edge.client.source(head.headers, peer: channel.clientAddress)
            let opening = StreamOpening(
                operations: HubOperations(hub: hub, directory: hubs, grant: grant, source: source),
                installation: try InstallationID(pathSegment: String(segments[2])),
                channel: PushChannelSecret(header: head.headers.first(name: HeaderName.pushChannel)),
                lastEventID: head.headers.first(name: HeaderName.lastEventID),
                hasHeartbeatEvents: try StreamHeartbeat.isEvent(query[StreamHeartbeat.parameter])
            )
            try opening.open(output, on: channel)
        } catch {
            output.refuse(error)
        }
    }
}

extension ChannelOutput {
    fileprivate func end(whole response: HTTPResponse, _ body: ByteBuffer) {
        var head = response
        head.headerFields[.contentLength] = "\(body.readableBytes)"
        head.headerFields[.connection] = "close"
        var bytes = ByteBuffer(string: "HTTP/1.1 \(response.status)\r\n")
        for field in head.headerFields { bytes.writeString("\(field.name): \(field.value)\r\n") }
        bytes.writeString("\r\n")
        bytes.writeImmutableBuffer(body)
        end(bytes, status: response.status.code)
    }
}

extension InstallationID {
    /// Reads an id from a percent-encoded path segment.
    init(pathSegment: String) throws(ProtocolError) {
        guard let text = pathSegment.removingPercentEncoding else {
            throw .badRequest("The installation id in the path is not valid percent-encoding.")
        }
        try self.init(text)
    }

    var urlPathSegment: String {
        text.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.subtracting(["/", ":"])) ?? text
    }
}

extension PushChannelSecret {
    /// Reads the `Newswire-Push-Channel` header; an invalid secret counts as absent.
    init?(header: String?) {
        guard let header, let secret = try? PushChannelSecret(header) else { return nil }
        self = secret
    }
}
