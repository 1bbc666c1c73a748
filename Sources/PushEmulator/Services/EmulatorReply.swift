import Formats
import HubProtocol

/// A reply to a client; it is thrown where it refuses a request.
struct EmulatorReply: Error, Equatable {
    let status: Int
    let headers: [HeaderLine]
    let body: [UInt8]

    init(_ status: Int, _ headers: [HeaderLine] = [], json: JSONText? = nil) {
        self.status = status
        self.headers = headers + (json == nil ? [] : [HeaderLine("content-type", "application/json; charset=utf-8")])
        body = json?.bytes ?? []
    }
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
    func check(_ request: EmulatorRequest) throws(EmulatorReply) -> AcceptedPush

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
