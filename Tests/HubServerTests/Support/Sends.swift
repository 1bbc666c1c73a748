import Foundation
import HubProtocol
import HubRouting
import Testing

@testable import HubServer

extension TestHub {
    /// Sends a message of any format as a client does.
    ///
    /// - Returns: Its id.
    @discardableResult
    func send(
        format: String,
        _ body: String,
        tags: String? = nil,
        device: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> MessageID {
        var headers = headers
        headers[HeaderName.format] = format
        headers[HeaderName.tags] = tags
        headers[HeaderName.deviceHandle] = device
        return try await send("POST", "messages", as: full, headers: headers, body).messageID
    }

    /// The protocol's telemetry.
    func details(_ id: MessageID) async throws -> NotificationDetails {
        let reply = try await send("GET", "messages/\(id)", as: full)
        return try #require(NotificationDetails(xml: reply.body), "\(reply.body)")
    }

    /// Registers a phone with a template.
    func install(_ id: String, handle: String, tags: [String], body: String = #"{\"aps\":{\"alert\":\"$(title)\"}}"#)
        async throws
    {
        let tags = tags.map { "\"\($0)\"" }.joined(separator: ",")
        let json =
            #"{"installationId":"\#(id)","platform":"apns","pushChannel":"\#(handle)","tags":[\#(tags)],"#
            + #""templates":{"t":{"body":"\#(body)"}}}"#
        let reply = try await send("PUT", "installations/\(id)", as: listen, json)
        try #require(reply.status == 200, "\(reply.body)")
    }
}

extension Reply {
    /// The id in the address of what was made.
    var messageID: MessageID {
        get throws {
            let location = try #require(headers["location"], "\(status) \(body)")
            return try MessageID(String(location.prefix { $0 != "?" }.split(separator: "/").last ?? ""))
        }
    }
}
