import Formats
import HubProtocol

/// A reply to a client.
struct EmulatorReply: Sendable, Equatable {
    let status: Int
    var headers: [HeaderLine] = []
    var body: [UInt8] = []

    init(_ status: Int, _ headers: [HeaderLine] = []) {
        self.status = status
        self.headers = headers
    }

    /// Makes a reply whose body is JSON.
    init(_ status: Int, _ headers: [HeaderLine] = [], json: JSONText) {
        self.status = status
        self.headers = headers + [HeaderLine("content-type", "application/json; charset=utf-8")]
        body = json.bytes
    }
}

/// A reply that refuses a request.
struct Refusal: Error {
    let reply: EmulatorReply

    init(_ reply: EmulatorReply) { self.reply = reply }
}

/// A message that a service accepts unless the device has a fault.
struct AcceptedPush: Sendable {
    /// The recipient; `nil` for a message that is only validated.
    let device: EmulatedDevice?
    let messageID: String
    let reply: EmulatorReply
    var collapseKey: String?
    var plaintext: EmulatedDelivery.Plaintext?
}

/// The replies of one push service.
protocol PushAnswers: Sendable {
    /// Checks a request as far as possible without knowing the device.
    func check(_ request: EmulatorRequest) throws(Refusal) -> AcceptedPush

    /// Returns the reply to a valid request to which a fault applies; `nil` if the fault does not change the reply.
    func reply(to push: AcceptedPush, _ request: EmulatorRequest, _ fault: FaultScript.MetFault) -> EmulatorReply?
}

extension Duration {
    /// A `Retry-After` header in whole seconds, rounded up.
    var retryAfter: HeaderLine {
        let (seconds, attoseconds) = components
        return HeaderLine("retry-after", "\(max(0, seconds + (attoseconds > 0 ? 1 : 0)))")
    }
}
