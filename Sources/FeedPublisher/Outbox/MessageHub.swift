internal import HubClient
internal import HubProtocol

/// The receiver of a pass's messages: a hub, or the screen.
protocol MessageHub: Sendable {
    /// - Returns: The message's id, if the hub reports one.
    /// - Throws: ``HubError``.
    func send(_ body: [UInt8], tags: String, idempotencyKey: String) async throws -> String?
}

/// A hub that receives the messages.
struct LiveHub: MessageHub {
    let client: HubClient

    func send(_ body: [UInt8], tags: String, idempotencyKey: String) async throws -> String? {
        try await client.send(body, tags: tags, idempotencyKey: idempotencyKey)?.text
    }
}

/// Shows the messages that would be sent, with the number of their recipients.
struct PreviewHub: MessageHub {
    /// The hub that counts recipients; `nil` if none is configured.
    let client: HubClient?
    let collector: PreviewCollector

    func send(_ body: [UInt8], tags: String, idempotencyKey: String) async throws -> String? {
        var counts: RecipientCounts?
        if let client { counts = try? await client.recipients(tags: tags) }
        let properties = try? MessageProperties(json: body)
        let texts = (properties?.names ?? []).filter { $0.language(of: .news) != nil }
        collector.add(
            MessagePreview(
                category: properties?[.category] ?? tags,
                tags: tags,
                title: properties?[.title] ?? "",
                text: properties?[.messageParam] ?? texts.first.flatMap { properties?[$0] } ?? "",
                languages: texts.compactMap { $0.language(of: .news) },
                body: String(decoding: body, as: UTF8.self),
                bytes: body.count,
                recipients: counts?.total,
                platforms: counts?.platforms ?? [:]
            ),
            key: idempotencyKey
        )
        return nil
    }
}
