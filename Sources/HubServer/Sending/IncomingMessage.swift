import HubProtocol

/// A checked message from a sender.
struct IncomingMessage: Sendable {
    let id: MessageID
    let message: Message
    /// Time to send the message; `nil` to send it at once.
    var schedule: ScheduleTime?
    /// True for a test send, which goes to a few of the targets that match.
    var isTest = false
    let idempotencyKey: String?
    /// Hash that must be the same in a repeat with the same idempotency key.
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

    /// Approximate memory of the message while it waits to be stored.
    var bytes: Int {
        (message.audience.handles ?? []).reduce(message.body.count) { $0 + $1.handle.utf8.count }
    }
}
