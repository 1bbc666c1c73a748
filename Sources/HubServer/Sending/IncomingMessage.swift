import HubProtocol

/// A message as a sender hands it over, checked.
struct IncomingMessage: Sendable {
    let id: MessageID
    let message: Message
    /// `nil` to be sent at once.
    var schedule: ScheduleTime?
    /// For a few of those who match.
    var isTest = false
    let idempotencyKey: String?
    /// What a repeat under the same key must be equal in.
    let contentHash: [UInt8]
}

extension IncomingMessage {
    init(_ request: SendRequest) {
        self.init(
            id: .random(),
            message: request.message,
            schedule: request.schedule,
            isTest: request.isTest,
            idempotencyKey: request.idempotencyKey,
            contentHash: request.contentHash
        )
    }

    /// What it holds in memory while it waits to be written, near enough.
    var bytes: Int {
        (message.audience.handles ?? []).reduce(message.body.count) { $0 + $1.handle.utf8.count }
    }
}
