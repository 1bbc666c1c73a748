import Foundation
import HubProtocol
import Testing

/// Messages to the fleet, and what telemetry says of them.
extension PushPlay {
    /// Sends a message in the format of each platform and, unless they live for some seconds only, one for templates.
    ///
    /// - Returns: Their ids, in the order of ``platforms``.
    func broadcast(seconds: Int? = nil) async throws -> [String] {
        let expiration = seconds.map { "\(Timestamp(Date()).seconds + Int64($0))" }
        let android = seconds.map { #","android":{"ttl":"\#($0)s"}"# } ?? ""
        let toast = PushFleet.toast("Flood")
        var ids = [
            try await message("apple", #"{"aps":{"alert":"Flood"}}"#, ["apns-expiration": expiration]),
            try await message("fcmv1", #"{"message":{"data":{"title":"Flood"}\#(android)}}"#),
            try await message("windows", toast, ["X-WNS-Type": "wns/toast", "X-WNS-TTL": seconds.map { "\($0)" }]),
        ]
        if seconds == nil { ids.append(try await message("template", #"{"title":"Flood"}"#)) }
        return ids
    }

    private func message(_ format: String, _ body: String, _ headers: [String: String?] = [:]) async throws -> String {
        var headers = headers.compactMapValues(\.self)
        headers[HeaderName.format] = format
        headers[HeaderName.tags] = PushFleet.tag
        let reply = try await send("POST", "/news/messages", headers: headers, body)
        try #require(reply.status == 201, "\(reply.text)")
        return reply.id
    }

    private func details(_ message: String) async throws -> NotificationDetails {
        let reply = try await send("GET", "/news/messages/\(message)")
        // A hub that is starting or being killed is no failure of the test.
        guard let details = NotificationDetails(xml: reply.text) else { throw NoAnswer(answer: reply) }
        return details
    }

    /// Number of targets with each outcome, of all messages together.
    func outcomes(of messages: [String]) async throws -> [Platform: [OutcomeName: Int]] {
        var sum: [Platform: [OutcomeName: Int]] = [:]
        for message in messages {
            sum.merge(try await details(message).outcomes) { $0.merging($1) { $0 + $1 } }
        }
        return sum
    }

    /// Targets that telemetry calls reached.
    func successes(of messages: [String]) async throws -> [Platform: Int] {
        try await outcomes(of: messages).mapValues { $0[.success] ?? 0 }
    }

    /// Waits until telemetry says of each message that it is in a state; the hub may still be starting.
    func wait(for state: MessageState, _ messages: [String]) async throws {
        for message in messages {
            var last: NotificationDetails?
            try await wait("\(message) does not come to \(state.rawValue)") {
                last = (try? await details(message)) ?? last
                return last?.state == state
            }
        }
    }

    func failures(of message: String) async throws -> [FailedTargets.Target] {
        let reply = try await send("GET", "/news/deliveries/\(message)/failures?last=1000")
        try #require(reply.status == 200, "\(reply.text)")
        return try JSONDecoder().decode(FailedTargets.self, from: Data(reply.text.utf8)).targets
    }
}
