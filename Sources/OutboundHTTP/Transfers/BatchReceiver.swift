/// Receives the results of requests that no task waits for, several at a time.
final class BatchReceiver: Sendable {
    typealias Results = [(place: Int, result: Result<OutboundResponse, OutboundError>)]

    private let receive: @Sendable (Results) -> Void

    init(_ receive: @escaping @Sendable (Results) -> Void) { self.receive = receive }

    /// Passes on the results of transfers that have ended.
    func take(_ transfers: [Transfer]) { receive(transfers.map { ($0.place, $0.response()) }) }

    /// Passes on the results of transfers that have ended to their receivers; others are ignored.
    static func deliver(_ transfers: [Transfer]) {
        var rest = transfers[...]
        while let first = rest.first {
            let same = rest.prefix { $0.receiver === first.receiver }
            rest = rest.dropFirst(same.count)
            first.receiver?.take(Array(same))
        }
    }
}

extension Transfer {
    /// Returns the complete reply after the end of the transfer.
    fileprivate func response() -> Result<OutboundResponse, OutboundError> {
        reply().map { head, body in
            OutboundResponse(status: head.status, headers: head.headers, body: body, url: plan.address.text)
        }
    }
}
